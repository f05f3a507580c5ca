"""Keys and buttons of the annotate page that no other test presses: each does what the `?` sheet says."""

from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, open_note, press, quotes, saved

TEXT = "Uno due tre.\nQuattro cinque sei.\nSette otto nove.\n"


@pytest.fixture
def lines(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    notes = [make.make_note(project, TEXT, f"caso-{n}", annotators=[ann]) for n in (1, 2, 3)]
    return SimpleNamespace(project=project, ann=ann, notes=notes, note=notes[0])


@pytest.fixture
def page(lines: SimpleNamespace, page_of: Any, live: Any) -> Page:
    return open_note(page_of(lines.ann), live, lines.note)


def chosen(page: Page) -> str:
    return " ".join(str(page.evaluate("document.getSelection().toString()")).split())


# From the word "cinque" on.
SELECTED = {
    "Shift+ArrowDown": "cinque sei. Sette*",  # as far as the words lie below
    "Shift+ArrowUp": "*. Quattro cinque",
    "Shift+Home": "Quattro cinque",
    "Shift+End": "cinque sei.",
    "Control+Shift+Home": "Uno due tre. Quattro cinque",
    "Control+Shift+End": "cinque sei. Sette otto nove.",
    "Control+ArrowRight": "Sette",
    "Control+ArrowLeft": "Quattro",
    "Shift+ArrowLeft": "Quattro cinque",
    "Control+Shift+ArrowRight": "cinque",
    "Control+Shift+ArrowLeft": "cinqu",
    "Alt+Shift+ArrowRight": "inque",
    "Alt+Shift+ArrowLeft": "cinque",
    "Alt+ArrowLeft": "Quattro cinque",
    "Alt+ArrowUp": "Quattro cinque sei",
    "+": "Quattro cinque sei",
}


def test_every_key_that_selects(page: Page) -> None:
    for key, wanted in SELECTED.items():
        press(page, "Control+Home", *["ArrowRight"] * 5)
        assert chosen(page) == "cinque"
        press(page, key)
        assert fnmatchcase(chosen(page), wanted), (key, chosen(page))
        # It is what a label would be given to, no selection of the browser's own.
        expect(page.locator("#selected .wb-quote")).to_have_text(chosen(page))
    # A character further is a space: it is selected, and never labeled.
    press(page, "Control+Home", "ArrowRight", "Control+Shift+ArrowRight")
    assert page.evaluate("document.getSelection().toString()") == "due "
    # Narrower, by either key.
    for key in ("-", "Alt+ArrowDown"):
        press(page, "Control+Home", *["ArrowRight"] * 5, "+", key)
        assert chosen(page) == "cinque", key


def test_the_ends_of_a_span_by_characters(page: Page, lines: SimpleNamespace) -> None:
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    for key, wanted in (
        ("Control+Shift+ArrowLeft", "due tr"),
        ("Alt+Shift+ArrowRight", "ue tr"),
        ("Alt+Shift+ArrowLeft", "due tr"),
        ("Control+Shift+ArrowRight", "due tre"),
    ):
        press(page, key)
        saved(page)
        assert quotes(lines.ann, lines.note) == [("PATIENT", wanted)], key


def test_hits_one_after_the_other(page: Page) -> None:
    """By F3 without the bar, and by its buttons."""
    press(page, "/")
    page.keyboard.type("tt")
    count = page.locator("#find-count")
    expect(count).to_have_text("1 of 3")
    page.locator("#find-next").click()
    page.locator("#find-next").click()
    page.locator("#find-previous").click()
    expect(count).to_have_text("2 of 3")
    page.locator("#find-close").click()
    expect(page.locator("#find")).to_be_hidden()
    expect(page.locator("#note")).to_be_focused()
    line = "document.getSelection().anchorNode.parentElement.closest('.line').id"
    press(page, "F3")
    assert page.evaluate(line) == "L3"
    press(page, "Shift+F3", "Shift+F3")
    assert page.evaluate(line) == "L2"


def test_words_on_what_cannot_be(page: Page, lines: SimpleNamespace) -> None:
    said = page.locator("#said")
    press(page, "Tab")
    expect(said).to_have_text("This note has no spans yet.")
    page.locator("#note").focus()
    press(page, "ArrowRight", "1", "ArrowLeft", "Escape", "Control+Home", "1")
    expect(said).to_have_text("This span already has the label PATIENT.")
    expect(page.locator("#note .is-selected")).to_have_text("Uno")
    press(page, "*")
    expect(page.locator("#selected .wb-hint")).to_contain_text("no other mentions")
    # White space alone is no span.
    press(
        page,
        "Control+Home",
        "Control+Shift+ArrowRight",
        "Alt+Shift+ArrowRight",
        "Alt+Shift+ArrowRight",
        "Alt+Shift+ArrowRight",
        "2",
    )
    expect(said).to_have_text("The selection contains only white space.")
    saved(page)
    assert quotes(lines.ann, lines.note) == [("PATIENT", "Uno")]


def test_a_notice_is_closed(page: Page, lines: SimpleNamespace) -> None:
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Yes, submit").click()
    expect(page.locator("#note-name")).to_have_text("caso-2")
    page.locator("#previous-note").click()
    expect(page.locator("#reopen")).to_be_visible()
    press(page, "ArrowRight", "1")
    notice = page.locator("#notice")
    expect(notice).to_contain_text("This note is submitted. Reopen it to change it.")
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_be_hidden()
    # From a submitted note to the next one, without loading a page.
    page.evaluate("window.stayed = true")
    page.locator("#next-open").click()
    expect(page.locator("#note-name")).to_have_text("caso-2")
    assert page.evaluate("window.stayed")


def test_a_key_that_is_held_down_hands_in_one_note(page: Page, lines: SimpleNamespace) -> None:
    press(page, "ArrowRight", "1")
    saved(page)
    page.keyboard.press("Escape")
    page.keyboard.down("Enter")
    expect(page.locator("#note-name")).to_have_text("caso-2")
    page.keyboard.down("Enter")
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    press(page, "ArrowRight", "1")
    saved(page)
    expect(page.locator("#note-name")).to_have_text("caso-2")
    assert AnnotationSet.objects.filter(state="submitted").count() == 1


def test_windows_are_left_without_a_change(page: Page, lines: SimpleNamespace) -> None:
    """Cancel, by mouse: of the flag, of a comment, of other mentions."""
    page.locator("#show-flag").click()
    page.locator("#flag-cancel").click()
    expect(page.locator("#flag-dialog")).to_be_hidden()
    page.locator("#comment-add").click()
    expect(page.locator("#comment-text")).to_be_focused()
    page.locator("#comment-compose").get_by_role("button", name="Cancel").click()
    expect(page.locator("#comment-compose")).to_be_hidden()
    page.locator("#go-on").click()
    expect(page.locator("#go-on")).to_have_attribute("aria-pressed", "true")
    page.locator("#go-on").click()
    expect(page.locator("#go-on")).to_have_attribute("aria-pressed", "false")
    page.locator("#show-keys").click()
    keys = page.get_by_role("dialog", name="Keys")
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()
    drag(page, "otto")
    press(page, "Escape")
    expect(page.locator("#palette")).to_be_hidden()
    click_text(page, "nove")
    assert chosen(page) == ""


def test_words_that_wait_in_a_comment_warn_too(page: Page) -> None:
    press(page, "m")
    page.keyboard.type("Half a thought")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
