"""The annotate page for a screen reader, and on paper. tests/browser/test_axe.py has more."""

import re
from types import SimpleNamespace
from typing import Any

from playwright.sync_api import expect

from tests import factories as make
from tests.browser.annotate.steps import open_note, press


def test_a_screen_reader_hears_a_label_once_and_paper_has_the_whole_note(opened, world, live):
    press(opened, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    expect(opened.locator("#note .span")).to_have_attribute("data-label", "PATIENT")
    tree = opened.context.new_cdp_session(opened).send("Accessibility.getFullAXTree")["nodes"]
    named = {node["nodeId"]: node for node in tree}

    def inside(node: Any) -> list[str]:
        own = [] if node["ignored"] else [node.get("name", {}).get("value", "")]
        return own + [name for child in node["childIds"] if child in named for name in inside(named[child])]

    (note,) = (node for node in tree if node.get("name", {}).get("value", "").startswith("Text of"))
    names = inside(note)
    assert "PATIENT" in names and "Mario Rossi" in names
    assert sum("PATIENT" in name for name in names) == 1
    # On paper the whole note is there, and nothing but it.
    text = "Paziente Mario Rossi\r\n" * 120
    note = make.make_note(world.project, text, "long", annotators=[world.ann])
    make.make_set(note, world.ann, [(9, 20, "PATIENT")])
    open_note(opened, live, note)
    opened.emulate_media(media="print")
    height = "document.documentElement.scrollHeight"
    last = opened.locator(".line").last
    assert (
        opened.evaluate(height) >= last.evaluate("line => line.getBoundingClientRect().bottom + window.scrollY") > 2000
    )
    assert opened.locator("#scroll").evaluate("each => each.scrollHeight - each.clientHeight") <= 1
    for part in ("#note-name", "#note .span"):
        expect(opened.locator(part)).to_be_visible()
    for part in (".site-head", "#notes", "#side", "#submit-form", "#show-find", "#save-state"):
        expect(opened.locator(part)).to_be_hidden()


def test_without_scripts_the_note_can_be_read_and_handed_in(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.ann, java_script_enabled=False)
    response = page.goto(live("annotate", "covid", world.note.pk))
    expect(page.locator("#note")).to_contain_text("Mario Rossi, 54 anni")
    # Playwright's selectors ignore the text of noscript elements.
    assert response is not None and re.search(r"<noscript>.*Marking spans needs JavaScript", response.text())
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#note-name")).to_have_text(world.notes[1].name)
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("Submitted", exact=True)).to_be_visible()
