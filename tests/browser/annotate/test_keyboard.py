"""The annotate page by keyboard alone."""

from types import SimpleNamespace

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Span
from tests.browser.annotate.steps import press, quotes, saved


def test_the_whole_note_by_keys(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")  # Mario Rossi
    press(opened, "ArrowRight", "ArrowRight")  # over the comma to 54
    press(opened, "Enter")
    expect(opened.locator("#palette button").first).to_be_focused()
    press(opened, "ArrowRight", "ArrowRight", "Enter")  # the third label
    expect(opened.locator("#palette")).to_be_hidden()
    expect(opened.locator("#note")).to_be_focused()
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi"), ("DATE", "54")]
    press(opened, "Shift+Tab")
    expect(opened.locator("#note .is-selected")).to_have_text("Mario Rossi")
    press(opened, "2")
    press(opened, "Tab", "Delete")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi")]
    press(opened, "Control+z")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi"), ("DATE", "54")]
    press(opened, "Control+z")
    saved(opened)
    assert quotes(world.ann, world.note)[0] == ("PATIENT", "Mario Rossi")
    press(opened, "Control+Shift+z", "Control+y")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi")]
    press(opened, "Escape", "Enter")
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    assert AnnotationSet.objects.get().state == "submitted"


def test_resize_by_keys(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "1")
    press(opened, "Shift+ArrowRight")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]
    press(opened, "Alt+ArrowRight")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Rossi")]
    press(opened, "Alt+ArrowLeft", "Alt+ArrowLeft", "Shift+ArrowLeft")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente Mario")]
    assert Span.objects.count() == 1


def test_arrows_go_up_and_down(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowDown")
    assert opened.evaluate("document.getSelection().toString()") == "Visto"
    press(opened, "ArrowUp")
    assert opened.evaluate("document.getSelection().toString()") == "Paziente"


def test_tab_leaves_after_the_last_span_and_escape_leaves_at_once(opened: Page) -> None:
    press(opened, "ArrowRight", "1", "Tab")
    assert opened.evaluate("document.activeElement.id") != "note"
    opened.locator("#note").focus()
    press(opened, "Escape", "Escape")
    assert opened.evaluate("document.activeElement.id") == "side"


def test_the_sheet_names_what_is_bound(opened: Page) -> None:
    press(opened, "?")
    sheet = opened.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    for words in ("Undo", "Ctrl+Z", "PATIENT", "Next note", "This list"):
        expect(sheet).to_contain_text(words)
    press(opened, "Escape")
    expect(sheet).to_be_hidden()


def test_n_and_p_go_to_the_neighbors(opened: Page, world: SimpleNamespace) -> None:
    # There is no note before the first: a page that was opened at a location stays as it is.
    opened.evaluate("history.replaceState(null, '', '?at=0-8')")
    press(opened, "p")
    expect(opened.locator("#said")).to_contain_text("No more notes")
    press(opened, "n")
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    opened.wait_for_selector("html[data-workbench=ready]")
    press(opened, "p")
    opened.wait_for_url(f"**/notes/{world.notes[0].pk}/annotate/")
