"""Drawing spans on the annotate page: few elements change, and server and browser draw the same."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import factories as make
from tests.browser.annotate.steps import open_note, press, saved

WORDS = "Paziente Mario Rossi, ricoverato il 12/03/2021 a Torino, dimesso.\n"
LINES = 500
# A span put in, moved or taken out: its own nodes, and the text around it.
MOST_NODES = 16

TOUCHED = """() => {
    const count = (node) => 1 + [...node.childNodes].reduce((sum, child) => sum + count(child), 0);
    window.touched = [];
    new MutationObserver((records) => {
        const changed = new Set();
        let moved = 0;
        for (const { type, target, addedNodes, removedNodes } of records) {
            if (type === "attributes") changed.add(target);
            else for (const node of [...addedNodes, ...removedNodes]) moved += count(node);
        }
        window.touched.push(moved + changed.size);
    }).observe(document.getElementById("note"),
        { childList: true, subtree: true, attributes: true, characterData: true });
}"""


def drawn(page: Page) -> str:
    """The note's markup without the differences of server and browser: keys, the ring, space between lines."""
    markup = page.locator("#note").evaluate("note => note.innerHTML")
    return re.sub(r' data-span="[^"]*"| is-selected|(?<=</div>)\n', "", markup)


@pytest.mark.nightly
def test_a_long_note_is_touched_little_and_drawn_alike(transactional_db: None, page_of: Any, live: Any) -> None:
    project = make.make_project("long")
    ann = make.make_member(project, user="ann")
    text = WORDS * LINES
    long = make.make_note(project, text, "a-long", annotators=[ann])
    make.make_note(project, WORDS, "b-short", annotators=[ann])
    annotation_set = make.make_set(long, ann)
    for line in range(0, LINES, 5):
        start = line * len(WORDS)
        make.make_span(annotation_set, start + 9, start + 20, "PATIENT")
        make.make_span(annotation_set, start + 15, start + 20, "DOCTOR")
        make.make_span(annotation_set, start + 49, start + 55 + len(WORDS), "CITY")  # into the next line
    page = open_note(page_of(ann), live, long)
    page.evaluate(TOUCHED)
    press(page, *["ArrowDown"] * 3, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1", "2")
    press(page, "Shift+ArrowRight", "Shift+ArrowLeft", "Alt+ArrowLeft")
    press(page, "ArrowRight", "ArrowRight", "c", "Delete", "Control+z", "Control+z", "Control+y")
    press(page, "ArrowDown", "ArrowDown", "1", "ArrowLeft", "Shift+ArrowRight", "d")
    saved(page)
    touched = page.evaluate("window.touched")
    assert len(touched) > 8
    assert max(touched) <= MOST_NODES, touched
    by_parts = drawn(page)
    page.evaluate("window.stayed = true")
    press(page, "n")
    expect(page.locator("#note-name")).to_have_text("b-short")
    press(page, "p")
    expect(page.locator("#note-name")).to_have_text("a-long")
    assert page.evaluate("window.stayed")
    by_browser = drawn(page)
    page.reload()
    page.wait_for_selector("html[data-workbench=ready]")
    by_server = drawn(page)
    assert by_parts == by_browser == by_server
