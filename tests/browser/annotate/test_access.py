"""The annotate page for a screen reader, and on paper. tests/browser/test_axe.py has more."""

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
