"""Saving on the annotate page: no change is lost, made twice, or overwritten silently."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Assignment, Event, Span
from annotations.projects.services.archiving import archive_project, restore_project
from tests import factories as make
from tests.browser.annotate.steps import lose_one_answer, open_note, painted, press, quotes, saved
from tests.browser.conftest import session_cookie


def test_a_reload_keeps_spans_and_undo(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "ArrowRight", "1", "ArrowRight", "2")
    saved(opened)
    before = painted(opened)
    # The folded list of notes stays folded, and position and selection are restored.
    opened.locator("#notes-list summary").press("Enter")
    expect(opened.locator("#notes-items")).to_be_hidden()
    opened.reload()
    opened.wait_for_selector("html[data-workbench=ready]")
    expect(opened.locator("#notes-items")).to_be_hidden()
    expect(opened.locator("#note .is-selected")).to_have_text("Rossi")
    assert painted(opened) == before == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    press(opened, "Control+z")
    expect(opened.locator("#note .span")).to_have_count(1)
    press(opened, "Control+z")
    expect(opened.locator("#note .span")).to_have_count(0)
    press(opened, "Control+y", "Control+y")
    expect(opened.locator("#note .span")).to_have_count(2)
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]


@pytest.mark.both_databases
def test_offline_work_is_kept_and_sent_in_order(opened: Page, world: SimpleNamespace) -> None:
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    press(opened, "2", "ArrowRight", "c", "Delete", "ArrowRight", "ArrowRight", "d")
    press(opened, "Control+z", "Control+Shift+z")
    expect(opened.locator("#save-state")).to_have_text("Offline, 7 waiting")
    assert painted(opened) == [("DOCTOR", "Mario"), ("DATE", "54")]
    assert Span.objects.count() == 0
    opened.context.set_offline(False)
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario"), ("DATE", "54")] == painted(opened)
    assert Event.objects.filter(verb__startswith="span.").count() == 7


def test_a_lost_answer_doubles_nothing(opened: Page, world: SimpleNamespace) -> None:
    lost = lose_one_answer(opened, "**/changes")
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    saved(opened)
    assert lost == [200]
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")] == painted(opened)
    expect(opened.locator("#notice")).not_to_contain_text("another tab")


def test_leaving_unsaved_work_warns(opened: Page) -> None:
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_contain_text("Offline")
    with opened.expect_event("dialog") as asked:
        opened.once("dialog", lambda dialog: dialog.dismiss())
        opened.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    opened.context.set_offline(False)
    saved(opened)


def sign_in_anew(page: Page, live: Any, user: Any) -> None:
    """Sign in by the form, which makes the CSRF tokens of other tabs invalid."""
    page.context.clear_cookies()
    page.goto(live("account_login"))
    page.fill("input[name=login]", user.username)
    page.fill("input[name=password]", make.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(live("projects"))


def test_signed_out_work_waits_for_signing_in_again(
    opened: Page, world: SimpleNamespace, page_of: Any, live: Any, live_server: Any
) -> None:
    opened.context.clear_cookies()
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Signed out, 1 waiting")
    expect(opened.locator("#notice")).to_contain_text("Sign in again in another tab")
    # Somebody else signs in first: nothing of ann's may become theirs.
    opened.context.add_cookies([session_cookie(world.ben, live_server.url)])
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    expect(opened.locator("#save-state")).to_have_text("Another person is signed in, 1 waiting")
    assert Span.objects.count() == 0
    other = page_of(beside=opened)
    sign_in_anew(other, live, world.ann)
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")]
    # Handing in is no change that waits: it asks for a fresh token too.
    sign_in_anew(other, live, world.ann)
    opened.get_by_role("button", name="Submit").click()
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")


def test_changes_to_a_note_that_was_unassigned_wait(opened: Page, world: SimpleNamespace) -> None:
    mine = Assignment.objects.filter(document=world.note, user=world.ann)
    mine.update(state="released")
    press(opened, "ArrowRight", "1", "ArrowRight", "2")
    expect(opened.locator("#save-state")).to_have_text("No access, 2 waiting")
    expect(opened.locator("#notice")).to_contain_text("Ask a manager to give you access again")
    assert painted(opened) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    mine.update(state="open")
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert quotes(world.ann, world.note) == painted(opened) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]


def test_changes_to_a_note_of_an_archived_project_wait(opened: Page, world: SimpleNamespace) -> None:
    archive_project(project=world.project, actor=None)
    press(opened, "ArrowRight", "1", "ArrowRight", "2")
    expect(opened.locator("#save-state")).to_have_text("No access, 2 waiting")
    expect(opened.locator("#notice")).to_contain_text("the project was archived")
    assert not Span.objects.exists()
    restore_project(project=world.project, actor=None)
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert quotes(world.ann, world.note) == painted(opened) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]


def test_what_was_refused_is_told_to_the_end(opened: Page, world: SimpleNamespace) -> None:
    """The message is not replaced by the one that all changes are saved."""
    press(opened, "ArrowRight", "1", "ArrowRight", "1")
    saved(opened)
    opened.context.set_offline(True)
    press(opened, "Escape", "Control+Home", "Tab", "2", "Tab", "2")
    expect(opened.locator("#save-state")).to_have_text("Offline, 2 waiting")
    # In another tab both became something else meanwhile.
    Span.objects.update(label=make.label_of(world.project, "CITY"))
    AnnotationSet.objects.update(version=F("version") + 1)
    opened.context.set_offline(False)
    saved(opened)
    expect(opened.locator("#notice")).to_contain_text("Your change was not saved")
    expect(opened.locator("#notice")).to_contain_text("2 changes were not saved.")
    assert [label for label, _quote in painted(opened)] == ["CITY", "CITY"]


@pytest.mark.both_databases
def test_two_tabs_tell_each_other(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_note(page_of(beside=opened), live, world.note)
    press(opened, "ArrowRight", "1")
    saved(opened)
    press(other, "ArrowRight", "ArrowRight", "2")
    saved(other)
    expect(other.locator("#notice")).to_contain_text("1 span added")
    assert painted(other) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    opened.bring_to_front()
    opened.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(opened.locator("#notice")).to_contain_text("1 span added")
    # The same span from both at once.
    for page in (opened, other):
        press(page, "ArrowRight", "c")
    saved(opened)
    saved(other)
    assert quotes(world.ann, world.note).count(("CITY", "Rossi")) <= 1


@pytest.mark.both_databases
def test_a_stale_tab_overwrites_nothing(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    press(opened, "ArrowRight", "1")
    saved(opened)
    other = open_note(page_of(beside=opened), live, world.note)
    press(other, "Tab", "2")
    saved(other)
    press(opened, "d")  # still selected there, still PATIENT there
    expect(opened.locator("#notice")).to_contain_text("Your change was not saved")
    assert quotes(world.ann, world.note) == [("DOCTOR", "Paziente")] == painted(opened)


def test_submitted_elsewhere(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_note(page_of(beside=opened), live, world.note)
    press(other, "Enter", "Enter")
    other.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#notice")).to_contain_text("submitted in another tab")
    # What was made here is neither lost nor saved: it waits, and the page says so.
    expect(opened.locator("#save-state")).to_have_text("Submitted elsewhere, 1 waiting")
    assert [label for label, _quote in painted(opened)] == ["PATIENT"] and quotes(world.ann, world.note) == []
    # Reopened on the same page: the cursor is where it was, and keys continue in the note.
    opened.evaluate("window.stayed = true")
    opened.get_by_role("button", name="Reopen to change the annotations").click()
    opened.wait_for_selector("#workbench[data-state=draft]")
    expect(opened.locator("#note")).to_be_focused()
    saved(opened)
    expect(opened.locator("#notice")).to_contain_text("All changes are saved")
    made = quotes(world.ann, world.note)
    assert [label for label, _quote in made] == ["PATIENT"]
    press(opened, "ArrowLeft", "2")
    saved(opened)
    assert len(quotes(world.ann, world.note)) == 2
    # The list and the counts say so, here and in the other tab once it is loaded.
    expect(opened.locator("#progress-text")).to_contain_text("0 of 3 done")
    press(opened, "Escape", "Enter")
    expect(opened.locator("#note-name")).to_have_text(world.notes[1].name)
    expect(opened.locator("#progress-text")).to_contain_text("1 of 3 done")
    press(opened, "p")
    expect(opened.locator("#notes [aria-current]")).to_contain_text("done:")
    opened.get_by_role("button", name="Reopen to change the annotations").click()
    expect(opened.locator("#notes [aria-current]")).not_to_contain_text("done:")
    expect(opened.locator("#progress-text")).to_contain_text("0 of 3 done")
    assert opened.evaluate("window.stayed")
    assert AnnotationSet.objects.get(document=world.note).state == "draft"


@pytest.mark.both_databases
def test_a_double_click_on_submit_submits_once(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "ArrowRight", "1", "Escape")
    saved(opened)
    opened.get_by_role("button", name="Submit").dblclick()
    opened.wait_for_url(f"**/notes/{world.notes[1].pk}/annotate/")
    assert Event.objects.filter(verb="set.submitted").count() == 1
    assert world.ann.assignments.get(document=world.notes[1]).state == "open"


def test_submit_then_next_until_nothing_is_left(opened: Page, world: SimpleNamespace, page_of: Any) -> None:
    for number in (1, 2):
        press(opened, "ArrowRight", "1", "Enter")
        opened.wait_for_url(f"**/notes/{world.notes[number].pk}/annotate/")
        opened.wait_for_selector("html[data-workbench=ready]")
    press(opened, "Enter", "Enter")
    expect(opened.get_by_role("heading", name="You have finished all your notes")).to_be_visible()
    assert AnnotationSet.objects.filter(state="submitted").count() == 3
    assert not world.ann.assignments.filter(state="open").exists()
