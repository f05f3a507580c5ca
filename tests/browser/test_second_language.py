"""The annotate page in a second language, with compiled catalogs like those of gettext: page, scripts, plural forms."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from tests import factories as make
from tests.browser.annotate.steps import TEXT, click_text, open_note, press
from tests.languages import compile_catalog, speaking

POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
SCRIPT: dict[str, str | list[str]] = {
    "Saved": "Zapisano",
    "No spans": "Brak zakresów",
    "%(count)s span\0%(count)s spans": ["%(count)s zakres", "%(count)s zakresy", "%(count)s zakresów"],
    "what keys are for\x04Move": "Ruch",
}


@pytest.fixture
def live_server(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[LiveServer]:
    compile_catalog(tmp_path, "pl", "djangojs", POLISH, SCRIPT)
    compile_catalog(tmp_path, "pl", "django", POLISH, {"Skip to content": "Przejdź do treści"})
    with speaking(settings, "pl", paths=(tmp_path,)):
        server = LiveServer("localhost")
        yield server
        server.stop()


def test_the_annotate_page_uses_the_second_language(live_server: Any, page_of: Any, live: Any) -> None:
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, TEXT, "caso-001", annotators=[ann], language="it")
    page = open_note(page_of(ann, locale="pl-PL", extra_http_headers={"Accept-Language": "pl"}), live, note)
    expect(page.locator("a.skip")).to_have_text("Przejdź do treści")
    count = page.locator("#count")
    for word, text in [("Mario", "1 zakres"), ("Paziente", "2 zakresy"), ("ricoverato", "3 zakresy"),
                       ("Visto", "4 zakresy"), ("Torna", "5 zakresów")]:  # fmt: skip
        click_text(page, word, click_count=2)
        press(page, "1")
        expect(count).to_have_text(text)
    expect(page.locator("#save-state")).to_have_text("Zapisano")
    press(page, "Escape", "Escape", "?")
    expect(page.locator("#keys h3").first).to_have_text("Ruch")
    # Texts without a translation are in English.
    expect(page.locator("#keys")).to_contain_text("Next word, previous word (in visual order)")
