"""Spans in more pieces than a page may hold: the server draws the innermost ones, the script draws all."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.core.templatetags import note_text
from tests import factories as make
from tests.browser.annotate.steps import open_note

DRAWN = """() => [...document.querySelectorAll("#note .line-text")].map((line) =>
    [...line.querySelectorAll(".span")].map((s) => [s.textContent, s.className, s.ariaLabel, s.dataset.span]))"""


def test_the_script_draws_all_spans(
    world: SimpleNamespace, page_of: Any, live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [(0, 12, "PATIENT"), (4, 20, "CITY"), (8, 30, "AGE"), (10, 14, "DOCTOR"), (40, 44, "CITY")]
    make.make_set(world.note, world.ann, spans)
    page = open_note(page_of(world.ann), live, world.note)
    as_usual = page.evaluate(DRAWN)
    assert len({piece[3] for line in as_usual for piece in line}) == len(spans)
    monkeypatch.setattr(note_text, "MOST_PIECES", 5)
    written = page.request.get(page.url).text()
    assert "note-crowded" in written and written.count("data-span=") < sum(map(len, as_usual))
    open_note(page, live, world.note)
    assert page.evaluate(DRAWN) == as_usual
    expect(page.locator(".note-crowded")).to_have_count(0)
