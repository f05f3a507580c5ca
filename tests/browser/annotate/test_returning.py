"""Submit while changes wait, and return to a page: it sends them first, and asks the server for the saved state."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import Page, Route, expect

from annotations.models import AnnotationSet
from tests import factories as make
from tests.browser.annotate.steps import open_note, painted, press, quotes, saved, wait_for_held

RETURNS = {
    "the tab is seen again": "document.dispatchEvent(new Event('visibilitychange'))",
    "out of the browser's memory": "window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
    "the window has the focus": "window.dispatchEvent(new Event('focus'))",
}
FOCUS = RETURNS["the window has the focus"]


@pytest.mark.parametrize("by", ["key", "button"])
def test_submitting_sends_what_waits_first(opened: Page, world: SimpleNamespace, by: str) -> None:
    held: list[Route] = []
    asked: list[str] = []
    opened.route("**/changes", lambda route: held.append(route))
    opened.on("requestfinished", lambda it: it.method == "POST" and asked.append(it.url.rstrip("/").split("/")[-1]))
    press(opened, "ArrowRight", "1", "ArrowRight", "2", "Escape")
    if by == "key":
        press(opened, "Enter")
    else:
        opened.get_by_role("button", name="Submit").click()
    expect(opened.locator("#said")).to_have_text("Submitting…")
    expect(opened.locator("#submit")).to_be_disabled()
    for answer in range(2):
        with opened.expect_response("**/changes"):
            wait_for_held(opened, held, answer + 1)
            assert "submit" not in asked
            held[answer].continue_()
    expect(opened.locator("#note-name")).to_have_text(world.notes[1].name)
    assert asked == ["changes", "changes", "submit"]
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    assert AnnotationSet.objects.get().state == "submitted"


def test_what_cannot_be_sent_is_not_submitted(opened: Page, world: SimpleNamespace) -> None:
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    press(opened, "Escape", "Enter")
    expect(opened.locator("#notice")).to_contain_text("Not submitted: some changes are not saved yet.")
    expect(opened.locator("#submit")).to_be_enabled()
    opened.context.set_offline(False)
    saved(opened)
    assert AnnotationSet.objects.get().state == "draft"
    press(opened, "Enter")
    expect(opened.locator("#note-name")).to_have_text(world.notes[1].name)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")]


def test_the_connection_is_back(opened: Page, world: SimpleNamespace) -> None:
    """The browser reports the connection, so that changes don't wait for the end of a pause."""
    opened.evaluate("() => { const late = setTimeout; window.setTimeout = (f, ms) => (ms < 500 ? late(f, ms) : 0); }")
    opened.context.set_offline(True)
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    opened.context.set_offline(False)
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente")]


@pytest.mark.parametrize("how", RETURNS)
def test_coming_back_asks_what_changed(opened: Page, world: SimpleNamespace, how: str) -> None:
    make.make_set(world.note, world.ann, [(9, 20, "PATIENT")], version=1)
    opened.evaluate(RETURNS[how])
    expect(opened.locator("#notice")).to_contain_text("1 span added")
    assert painted(opened) == [("PATIENT", "Mario Rossi")]
    # Submitted and reopened by the same person elsewhere.
    AnnotationSet.objects.update(state="submitted", version=F("version") + 1)
    opened.evaluate(RETURNS[how])
    expect(opened.locator("#notice")).to_contain_text("This note was submitted in another tab.")
    expect(opened.get_by_role("button", name="Reopen to change the annotations")).to_be_visible()
    AnnotationSet.objects.update(state="draft", version=F("version") + 1)
    opened.evaluate(RETURNS[how])
    expect(opened.locator("#notice")).to_contain_text("This note was reopened in another tab.")
    expect(opened.locator("#submit")).to_be_visible()


def test_coming_back_again_before_the_answer(opened: Page, world: SimpleNamespace) -> None:
    """What changes elsewhere after the server's answer, but before the second return, is found as well."""
    held: list[Route] = []
    opened.route("**/spans?*", lambda route: route.continue_() if held else held.append(route))
    opened.evaluate(FOCUS)
    wait_for_held(opened, held, 1)
    before = held[0].fetch()
    make.make_set(world.note, world.ann, [(9, 20, "PATIENT")], version=1)
    opened.evaluate(FOCUS)
    held[0].fulfill(response=before)
    expect(opened.locator("#notice")).to_contain_text("1 span added")
    assert painted(opened) == [("PATIENT", "Mario Rossi")]


@pytest.mark.parametrize("act", ["label", "reopen"])
def test_an_answer_that_is_older_than_a_saved_change(opened: Page, world: SimpleNamespace, act: str) -> None:
    """It undoes nothing on the page: neither a new span nor the reopening of the note."""
    press(opened, "ArrowRight", "1")
    saved(opened)
    if act == "reopen":
        press(opened, "Escape", "Enter")
        expect(opened.locator("#note-name")).to_have_text(world.notes[1].name)
        press(opened, "p")
        expect(opened.locator("#note-name")).to_have_text(world.note.name)
    opened.wait_for_load_state("networkidle")
    held: list[Route] = []
    opened.route(f"**/notes/{world.note.pk}/spans?*", lambda route: held.append(route))
    opened.evaluate(FOCUS)
    wait_for_held(opened, held, 1)
    before = held[0].fetch()
    with opened.expect_response("**/reopen" if act == "reopen" else "**/changes"):
        press(opened, *(["u"] if act == "reopen" else ["ArrowRight", "2"]))
    expect(opened.locator("#workbench")).to_have_attribute("data-state", "draft")
    saved(opened)
    held[0].fulfill(response=before)
    wait_for_held(opened, held, 2)  # the page asks again
    expect(opened.locator("#workbench")).to_have_attribute("data-state", "draft")
    expect(opened.locator("#notice")).to_be_hidden()
    assert len(painted(opened)) == (1 if act == "reopen" else 2)
    held[1].continue_()


def test_coming_back_as_nobody_or_without_the_note(opened: Page, world: SimpleNamespace) -> None:
    cookies = opened.context.cookies()
    opened.context.clear_cookies()
    opened.evaluate(FOCUS)
    expect(opened.locator("#save-state")).to_contain_text("Signed out")
    expect(opened.locator("#notice")).to_contain_text("Sign in again in another tab")
    opened.context.add_cookies(cookies)  # type: ignore[arg-type]
    opened.evaluate(FOCUS)
    saved(opened)
    expect(opened.locator("#notice")).to_contain_text("All changes are saved")
    world.ann.assignments.filter(document=world.note).update(state="released")
    opened.evaluate(FOCUS)
    expect(opened.get_by_role("heading", name="This page was not found")).to_be_visible()


def test_a_note_that_was_opened_without_the_server_is_asked_about_again(
    world: SimpleNamespace, page_of: Any, live: Any
) -> None:
    first, second, _ = world.notes
    page = page_of(world.ann)
    with page.expect_response("**/data?ahead=1"):
        open_note(page, live, first)
    make.make_set(second, world.ann, [(9, 20, "PATIENT")], version=1)
    page.context.set_offline(True)
    with page.expect_event("requestfailed"):
        press(page, "n")
    expect(page.locator("#note-name")).to_have_text(second.name)
    assert painted(page) == []
    page.context.set_offline(False)
    expect(page.locator("#notice")).to_contain_text("1 span added")
    assert painted(page) == [("PATIENT", "Mario Rossi")]
