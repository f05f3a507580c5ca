"""Submitting: the question about a note without spans, undo on the page that follows, and the key that reopens."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Assignment
from tests.browser.annotate.steps import open_note, press, saved


def name_of(page: Page) -> Any:
    return page.locator("#note-name")


def state_of(world: SimpleNamespace) -> str:
    return AnnotationSet.objects.get(document=world.note, author__user=world.ann).state


@pytest.mark.parametrize("by", ["keys", "mouse"])
def test_a_note_without_spans_is_submitted_after_a_question(
    opened: Page, world: SimpleNamespace, axe: Any, by: str
) -> None:
    question = opened.get_by_role("alertdialog", name="Submit as containing no personal data?")
    first, second, _ = world.notes

    def submit() -> None:
        press(opened, "Enter") if by == "keys" else opened.locator("#submit").click()

    submit()
    expect(question).to_be_visible()
    assert axe(opened) == []
    press(opened, "Escape") if by == "keys" else question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    expect(opened.locator("#note")).to_be_focused()
    expect(name_of(opened)).to_have_text(first.name)
    assert not AnnotationSet.objects.exists()
    submit()
    # A key held down is no answer.
    opened.locator("#submit-empty").dispatch_event("keydown", {"key": "Enter", "repeat": True, "bubbles": True})
    expect(question).to_be_visible()
    press(opened, "Enter") if by == "keys" else question.get_by_role("button", name="Yes, submit").click()
    expect(name_of(opened)).to_have_text(second.name)
    expect(question).to_be_hidden()
    assert state_of(world) == "submitted"
    # A note with a span is submitted at once.
    press(opened, "ArrowRight", "1", "Escape")
    submit()
    expect(name_of(opened)).to_have_text(world.notes[2].name)


@pytest.mark.parametrize("by", ["keys", "mouse"])
def test_a_submission_is_undone_on_the_next_note(opened: Page, world: SimpleNamespace, axe: Any, by: str) -> None:
    first, second, _ = world.notes
    press(opened, "ArrowRight", "1", "Escape", "Enter")
    expect(name_of(opened)).to_have_text(second.name)
    expect(opened.locator("#submitted")).to_contain_text(f"{first.name} submitted")
    expect(opened.locator("#said")).to_have_text(f"{first.name} submitted. U undoes the submission.")
    assert axe(opened) == []
    press(opened, "u") if by == "keys" else opened.locator("#undo-submit").click()
    expect(name_of(opened)).to_have_text(first.name)
    expect(opened.locator("#submitted")).to_be_hidden()
    expect(opened.locator("#workbench")).to_have_attribute("data-state", "draft")
    expect(opened.locator("#said")).to_have_text("Reopened. You can change this note again.")
    assert state_of(world) == "draft"
    press(opened, "2")
    saved(opened)
    # The offer ends when the next note is left.
    press(opened, "Escape", "Enter")
    expect(opened.locator("#submitted")).to_be_visible()
    press(opened, "n")
    expect(name_of(opened)).to_have_text(world.notes[2].name)
    expect(opened.locator("#submitted")).to_be_hidden()


def test_the_page_after_the_last_note_and_a_loaded_page_offer_undo(
    world: SimpleNamespace, page_of: Any, live: Any
) -> None:
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


def test_a_key_reopens_a_submitted_note(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "1", "Escape", "Enter")
    expect(name_of(opened)).to_have_text(world.notes[1].name)
    press(opened, "p")
    expect(name_of(opened)).to_have_text(world.note.name)
    expect(opened.get_by_role("button", name="Reopen to change the annotations u")).to_be_visible()
    press(opened, "u")
    expect(opened.locator("#workbench")).to_have_attribute("data-state", "draft")
    assert state_of(world) == "draft"
    press(opened, "?")
    row = opened.locator("#keys-list dl > div", has_text="Reopen the submitted note")
    expect(row.locator("kbd")).to_have_text(["u"])
