"""Submitting: the question about a note without spans, undo on the page that follows, and the key that reopens."""

from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Assignment
from tests.browser.annotate.steps import TEXT, open_note, press, saved


def name_of(page: Page) -> Any:
    return page.locator("#note-name")


def state_of(world: SimpleNamespace) -> str:
    return AnnotationSet.objects.get(document=world.note, author__user=world.ann).state


def test_submitting_and_its_undo(walk_over):
    """By keys and by mouse. A note without spans is submitted after a question; U undoes it on the next note."""
    walk = walk_over(*[TEXT] * 12)
    page = walk.page
    question = page.get_by_role("alertdialog", name="Submit as containing no personal data?")
    said = page.locator("#said")
    expect(page.locator("#pace")).to_be_hidden()

    def state_of(note: Any) -> str:
        return AnnotationSet.objects.get(document=note, author__user=walk.ann).state

    for by in ("keys", "mouse"):

        def submit(by: str = by) -> None:
            press(page, "Enter") if by == "keys" else page.locator("#submit").click()

        submit()
        expect(question).to_be_visible()
        press(page, "Escape") if by == "keys" else question.get_by_role("button", name="Cancel").click()
        expect(question).to_be_hidden()
        expect(page.locator("#note")).to_be_focused()
        expect(name_of(page)).to_have_text(walk.note.name)
        assert not AnnotationSet.objects.filter(document=walk.note).exists()
        submit()
        # A key held down is no answer.
        page.locator("#submit-empty").dispatch_event("keydown", {"key": "Enter", "repeat": True, "bubbles": True})
        expect(question).to_be_visible()
        press(page, "Enter") if by == "keys" else question.get_by_role("button", name="Yes, submit").click()
        before = walk.handed_in()
        expect(question).to_be_hidden()
        assert state_of(before) == "submitted"
        if by == "keys":
            expect(page.locator("#pace")).to_have_text("1 today")
        # A note with a span is submitted at once.
        press(page, "ArrowRight", "1", "Escape")
        submit()
        walk.handed_in()
        press(page, "ArrowRight", "1", "Escape", "Enter")
        before = walk.handed_in()
        expect(page.locator("#submitted")).to_contain_text(f"{before.name} submitted")
        expect(said).to_have_text(f"{before.name} submitted. U undoes the submission.")
        press(page, "u") if by == "keys" else page.locator("#undo-submit").click()
        expect(name_of(page)).to_have_text(before.name)
        expect(page.locator("#submitted")).to_be_hidden()
        expect(page.locator("#workbench")).to_have_attribute("data-state", "draft")
        expect(said).to_have_text("Reopened. You can change this note again.")
        assert state_of(before) == "draft"
        saved(page, "2")
        # The offer ends when the next note is left.
        press(page, "Escape", "Enter")
        expect(page.locator("#submitted")).to_be_visible()
        walk.go_on()
        expect(page.locator("#submitted")).to_be_hidden()
    # A key reopens a submitted note.
    press(page, "ArrowRight", "1", "Escape", "Enter")
    before = walk.handed_in()
    press(page, "p")
    expect(name_of(page)).to_have_text(before.name)
    expect(page.get_by_role("button", name="Reopen to change the annotations u")).to_be_visible()
    press(page, "u")
    expect(page.locator("#workbench")).to_have_attribute("data-state", "draft")
    assert state_of(before) == "draft"
    press(page, "?")
    row = page.locator("#keys-list dl > div", has_text="Reopen the submitted note")
    expect(row.locator("kbd")).to_have_text(["u"])


def test_the_page_after_the_last_note_and_a_loaded_page_offer_undo(world, page_of, live):
    Assignment.objects.exclude(document=world.note).delete()
    page = open_note(page_of(world.ann), live, world.note)
    press(page, "ArrowRight", "1", "Escape", "Enter")
    expect(page.get_by_role("heading", name="You have finished all your notes")).to_be_visible()
    expect(page.locator("#submitted")).to_contain_text(f"{world.note.name} submitted")
    page.locator("#undo-submit").press("Enter")
    expect(name_of(page)).to_have_text(world.note.name)
    page.wait_for_selector("html[data-workbench=ready]")
    assert state_of(world) == "draft"
    press(page, "Enter")
    expect(page.get_by_role("heading", name="You have finished all your notes")).to_be_visible()
    # The same on an annotate page that the browser loads; a reload ends the offer.
    Assignment.objects.create(project=world.project, document=world.notes[1], user=world.ann)
    page.reload()
    expect(page.locator("#submitted")).to_contain_text(f"{world.note.name} submitted")
    page.wait_for_selector("html[data-workbench=ready]")
    assert "submitted" not in page.url
    press(page, "u")
    expect(name_of(page)).to_have_text(world.note.name)
    assert state_of(world) == "draft"
