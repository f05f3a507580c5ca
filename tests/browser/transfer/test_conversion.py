"""Options of import and export in Chromium: moving spans to their text, spaces, sentences and tokens."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Import, Job
from tests import factories as make


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, "Flew from GambiaHome.", "viaggio", annotators=[ann])
    make.make_set(note, ann, [(10, 16, "CITY")], submitted=True)
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.parametrize("width", [390, 1280])
def test_the_options_of_an_export(world: Any, page_of: Any, live: Any, axe: Any, width: int) -> None:
    page = page_of(world.mia)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live("export", "covid"))
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Format").select_option("conll")
    page.get_by_label("Tokens").select_option("spacy")
    page.get_by_label("Empty row after each sentence").check()
    page.get_by_label("Insert spaces around attached spans").check()
    page.get_by_role("button", name="Start export").click()
    page.wait_for_url("**/jobs/**")
    assert Job.objects.get().params["options"] == {"sentences": True, "spaced": True, "tokenizer": "spacy"}


@pytest.mark.parametrize("width", [390, 1280])
def test_spans_are_moved_when_the_box_or_the_button_says_so(
    world: Any, page_of: Any, live: Any, axe: Any, tmp_path: Path, width: int
) -> None:
    (tmp_path / "a.txt").write_text("Mario Rossi")
    (tmp_path / "a.ann").write_text("T1\tPATIENT 3 14\tMario Rossi\n")
    page = page_of(world.mia)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live("import", "covid"))
    assert axe(page) == []
    page.get_by_label("Gold standard").check()
    page.get_by_label("Move spans whose quoted text is found nearby").check()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([tmp_path / "a.txt", tmp_path / "a.ann"])
    page.get_by_role("button", name="Preview import").first.click()
    page.wait_for_url("**/import/*/")
    expect(page.get_by_text("stands at 0-11; the span was moved there")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Refuse wrong offsets").click()
    expect(page.get_by_role("heading", name="Would be refused")).to_be_visible()
    page.get_by_role("button", name="Move spans to their text").click()
    expect(page.get_by_text("Spans moved")).to_be_visible()
    assert Import.objects.get().repair_offsets
