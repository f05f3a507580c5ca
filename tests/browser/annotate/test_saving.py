"""Saving on the annotate page: no change is lost, made twice, or overwritten silently, at a limit neither."""

from typing import Any

from django.db.models import F
from playwright.sync_api import Page, Route, expect

from annotations.models import AnnotationSet, Assignment, Event, Span
from tests import factories as make
from tests.browser.annotate.steps import (
    TEXT,
    hold,
    lose_one_answer,
    open_note,
    painted,
    place,
    press,
    quotes,
    reload,
    saved,
    wait_for_held,
)
from tests.browser.conftest import session_cookie


def test_what_waits_is_saved(walk_over):
    walk = walk_over(*[TEXT] * 9)
    page = walk.page
    # A reload keeps spans and undo.
    saved(page, "ArrowRight", "ArrowRight", "1", "ArrowRight", "2")
    drawn = painted(page)
    # The folded list of notes stays folded, and position and selection are restored.
    page.locator("#notes-list summary").press("Enter")
    expect(page.locator("#notes-items")).to_be_hidden()
    reload(page)
    expect(page.locator("#notes-items")).to_be_hidden()
    expect(page.locator("#note .is-selected")).to_have_text("Rossi")
    assert painted(page) == drawn == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    press(page, "Control+z")
    expect(page.locator("#note .span")).to_have_count(1)
    press(page, "Control+z")
    expect(page.locator("#note .span")).to_have_count(0)
    press(page, "Control+y", "Control+y")
    expect(page.locator("#note .span")).to_have_count(2)
    assert walk.made == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    # Offline work is kept and sent in order.
    walk.go_on()
    page.context.set_offline(True)
    press(page, "ArrowRight", "ArrowRight", "1")
    expect(page.locator("#save-state")).to_have_text("Offline, 1 waiting")
    press(page, "2", "ArrowRight", "c", "Delete", "ArrowRight", "ArrowRight", "d")
    press(page, "Control+z", "Control+Shift+z")
    expect(page.locator("#save-state")).to_have_text("Offline, 7 waiting")
    assert painted(page) == [("DOCTOR", "Mario"), ("DATE", "54")]
    assert Span.objects.filter(annotation_set__document=walk.note).count() == 0
    page.context.set_offline(False)
    assert walk.made == [("DOCTOR", "Mario"), ("DATE", "54")] == painted(page)
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span.").count() == 7
    # A lost answer doubles nothing.
    walk.go_on()
    lost = lose_one_answer(page, "**/changes")
    press(page, "ArrowRight", "1")
    expect(page.locator("#save-state")).to_have_text("Offline, 1 waiting")
    saved(page)
    assert lost == [200]
    assert walk.made == [("PATIENT", "Paziente")] == painted(page)
    expect(page.locator("#notice")).not_to_contain_text("another tab")
    page.unroute_all()
    # A message on what was refused is not replaced by the one that all changes are saved.
    walk.go_on()
    saved(page, "ArrowRight", "1", "ArrowRight", "1")
    page.context.set_offline(True)
    press(page, "Escape", "Control+Home", "Tab", "2", "Tab", "2")
    expect(page.locator("#save-state")).to_have_text("Offline, 2 waiting")
    # In another tab both became something else meanwhile.
    Span.objects.filter(annotation_set__document=walk.note).update(label=make.label_of(walk.note.project, "CITY"))
    AnnotationSet.objects.filter(document=walk.note).update(version=F("version") + 1)
    page.context.set_offline(False)
    saved(page)
    expect(page.locator("#notice")).to_contain_text("Your change was not saved")
    expect(page.locator("#notice")).to_contain_text("2 changes were not saved.")
    assert [label for label, _quote in painted(page)] == ["CITY", "CITY"]
    # Changes to a note that was unassigned wait.
    walk.go_on()
    mine = Assignment.objects.filter(document=walk.note, user=walk.ann)
    mine.update(state="released")
    press(page, "ArrowRight", "1", "ArrowRight", "2")
    expect(page.locator("#save-state")).to_have_text("No access, 2 waiting")
    expect(page.locator("#notice")).to_contain_text("Ask a manager to give you access again")
    assert painted(page) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    mine.update(state="open")
    page.evaluate("window.dispatchEvent(new Event('online'))")
    assert walk.made == painted(page) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    # A double click on submit submits once.
    walk.go_on()
    saved(page, "ArrowRight", "1", "Escape")
    page.get_by_role("button", name="Submit").dblclick()
    before = walk.handed_in()
    assert Event.objects.filter(document_id=before.pk, verb="set.submitted").count() == 1
    assert walk.ann.assignments.get(document=walk.note).state == "open"
    # Leaving unsaved work warns.
    page.context.set_offline(True)
    press(page, "ArrowRight", "1")
    expect(page.locator("#save-state")).to_contain_text("Offline")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    page.context.set_offline(False)
    saved(page)


def test_limits(walk_over, monkeypatch):
    walk = walk_over(*[TEXT] * 3)
    page = walk.page
    # Too many requests make the page wait and lose nothing.
    answers: list[int] = []

    def busy(route: Any) -> None:
        answers.append(len(answers))
        if len(answers) <= 2:
            route.fulfill(
                status=429, headers={"Retry-After": "2"}, json={"error": "requests", "message": "Too many requests."}
            )
        else:
            route.continue_()

    page.route("**/changes", busy)
    press(page, "ArrowRight", "ArrowRight", "1")
    expect(page.locator("#save-state")).to_have_text("Saving shortly, 1 waiting")
    expect(page.locator("#notice")).to_contain_text("saved automatically")
    # The note is named only once another one is open.
    expect(page.locator("#notice")).not_to_contain_text(walk.note.name)
    press(page, "ArrowRight", "2", "Control+z", "Control+y")
    expect(page.locator("#save-state")).to_have_text("Saving shortly, 4 waiting")
    # What is done meanwhile, or somebody who comes back to the page, doesn't send it earlier.
    page.evaluate("window.dispatchEvent(new Event('online'))")
    assert len(answers) <= 2
    assert walk.made == painted(page) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span.").count() == 4
    expect(page.locator("#notice")).to_contain_text("All changes are saved.")
    # A full note refuses a span in a sentence and undo goes on.
    walk.go_on()
    monkeypatch.setattr("annotations.core.spans.MOST_SPANS", 2)
    saved(page, "ArrowRight", "ArrowRight", "1", "ArrowRight", "2")
    before = painted(page)
    press(page, "ArrowRight", "d")
    expect(page.locator("#notice")).to_contain_text("an annotation set holds at most 2 spans on one note")
    expect(page.locator("#notice")).not_to_contain_text(walk.note.name)
    saved(page)
    assert painted(page) == before == walk.made
    press(page, "Control+z")
    expect(page.locator("#note .span")).to_have_count(1)
    saved(page)
    assert painted(page) == walk.made == before[:1]
    assert Span.objects.filter(annotation_set__document=walk.note).count() == 1
    page.unroute_all()


def test_two_tabs(walk_over, page_of, live):
    walk = walk_over(TEXT, TEXT)
    page = walk.page
    other = open_note(page_of(beside=page), live, walk.note)
    saved(page, "ArrowRight", "1")
    saved(other, "ArrowRight", "ArrowRight", "2")
    expect(other.locator("#notice")).to_contain_text("1 span added")
    assert painted(other) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    page.bring_to_front()
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#notice")).to_contain_text("1 span added")
    # The same span from both at once.
    for each in (page, other):
        press(each, "ArrowRight", "c")
    saved(other)
    assert walk.made.count(("CITY", "Rossi")) <= 1
    # A tab that is behind overwrites nothing.
    walk.go_on()
    saved(page, "ArrowRight", "1")
    open_note(other, live, walk.note)
    saved(other, "Tab", "2")
    page.bring_to_front()
    press(page, "d")  # still selected there, still PATIENT there
    expect(page.locator("#notice")).to_contain_text("Your change was not saved")
    assert walk.made == [("DOCTOR", "Paziente")] == painted(page)


def sign_in_anew(page: Page, live: Any, user: Any) -> None:
    """Sign in by the form, which makes the CSRF tokens of other tabs invalid."""
    page.context.clear_cookies()
    page.goto(live("account_login"))
    page.fill("input[name=login]", user.username)
    page.fill("input[name=password]", make.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "login" not in url)


def test_signed_out_work_waits_for_signing_in_again(opened, world, page_of, live, live_server):
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


def test_submitted_elsewhere(opened, world, page_of, live):
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
    assert [label for label, _quote in quotes(world.ann, world.note)] == ["PATIENT"]
    saved(opened, "ArrowLeft", "2")
    assert len(quotes(world.ann, world.note)) == 2
    assert opened.evaluate("window.stayed")


# ── Submit while changes wait, and return to a page: it sends them first, and asks the server for the saved state ──


RETURNS = {
    "the tab is seen again": "document.dispatchEvent(new Event('visibilitychange'))",
    "out of the browser's memory": "window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
    "the window has the focus": "window.dispatchEvent(new Event('focus'))",
}
FOCUS = RETURNS["the window has the focus"]


def test_submitting_sends_what_waits_first(walk_over):
    walk = walk_over(*[TEXT] * 5)
    page = walk.page
    asked: list[str] = []
    page.on("requestfinished", lambda it: it.method == "POST" and asked.append(it.url.rstrip("/").split("/")[-1]))
    for by in ("key", "button"):
        asked.clear()
        held = hold(page, "**/changes")
        press(page, "ArrowRight", "1", "ArrowRight", "2", "Escape")
        if by == "key":
            press(page, "Enter")
        else:
            page.get_by_role("button", name="Submit").click()
        expect(page.locator("#said")).to_have_text("Submitting…")
        expect(page.locator("#submit")).to_be_disabled()
        for answer in range(2):
            with page.expect_response("**/changes"):
                wait_for_held(page, held, answer + 1)
                assert "submit" not in asked
                held[answer].continue_()
        before = walk.handed_in()
        assert asked == ["changes", "changes", "submit"]
        assert quotes(walk.ann, before) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
        assert AnnotationSet.objects.get(document=before).state == "submitted"
        page.unroute_all()
    # What can't be sent is not submitted. The browser reports that the connection is back, so that changes don't wait
    # for the end of a pause.
    page.evaluate("() => { const late = setTimeout; window.setTimeout = (f, ms) => (ms < 500 ? late(f, ms) : 0); }")
    page.context.set_offline(True)
    press(page, "ArrowRight", "1")
    expect(page.locator("#save-state")).to_have_text("Offline, 1 waiting")
    press(page, "Escape", "Enter")
    expect(page.locator("#notice")).to_contain_text("Not submitted: some changes are not saved yet.")
    expect(page.locator("#submit")).to_be_enabled()
    page.context.set_offline(False)
    assert walk.made == [("PATIENT", "Paziente")]
    assert AnnotationSet.objects.get(document=walk.note).state == "draft"
    press(page, "Enter")
    assert AnnotationSet.objects.get(document=walk.handed_in()).state == "submitted"


def test_coming_back_asks_what_changed(walk_over):
    walk = walk_over(*[TEXT] * 8)
    page = walk.page
    notice, bench = page.locator("#notice"), page.locator("#workbench")
    for how in RETURNS.values():
        make.make_set(walk.note, walk.ann, [(9, 20, "PATIENT")], version=1)
        at = place(page, "Visto")
        page.evaluate(how)
        expect(notice).to_contain_text("1 span added")
        assert place(page, "Visto") == at  # so that a drag meets the same words
        assert painted(page) == [("PATIENT", "Mario Rossi")]
        # Submitted and reopened by the same person elsewhere.
        mine = AnnotationSet.objects.filter(document=walk.note)
        mine.update(state="submitted", version=F("version") + 1)
        page.evaluate(how)
        expect(notice).to_contain_text("This note was submitted in another tab.")
        expect(page.get_by_role("button", name="Reopen to change the annotations")).to_be_visible()
        mine.update(state="draft", version=F("version") + 1)
        page.evaluate(how)
        expect(notice).to_contain_text("This note was reopened in another tab.")
        expect(page.locator("#submit")).to_be_visible()
        walk.go_on()
    # What changes elsewhere after the server's answer, but before the second return, is found as well.
    held: list[Route] = []
    page.route("**/spans?*", lambda route: route.continue_() if held else held.append(route))
    page.evaluate(FOCUS)
    wait_for_held(page, held, 1)
    before = held[0].fetch()
    make.make_set(walk.note, walk.ann, [(9, 20, "PATIENT")], version=1)
    page.evaluate(FOCUS)
    held[0].fulfill(response=before)
    expect(notice).to_contain_text("1 span added")
    assert painted(page) == [("PATIENT", "Mario Rossi")]
    page.unroute_all()
    # An answer that is older than a saved change undoes nothing: neither a new span nor the reopening of the note.
    for act, keys, spans in (("changes", ["ArrowRight", "2"], 2), ("reopen", ["u"], 1)):
        note = walk.go_on()
        saved(page, "ArrowRight", "1")
        if act == "reopen":
            press(page, "Escape", "Enter")
            walk.handed_in()
            press(page, "p")
            expect(page.locator("#note-name")).to_have_text(note.name)
        page.wait_for_load_state("networkidle")
        late = hold(page, f"**/notes/{note.pk}/spans?*")
        page.evaluate(FOCUS)
        wait_for_held(page, late, 1)
        before = late[0].fetch()
        with page.expect_response(f"**/{act}"):
            press(page, *keys)
        expect(bench).to_have_attribute("data-state", "draft")
        saved(page)
        late[0].fulfill(response=before)
        wait_for_held(page, late, 2)  # the page asks again
        expect(bench).to_have_attribute("data-state", "draft")
        expect(notice).to_be_hidden()
        assert len(painted(page)) == spans
        late[1].continue_()
        page.unroute_all()


def test_coming_back_as_nobody_or_without_the_note(opened, world):
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


def test_a_note_that_was_opened_without_the_server_is_asked_about_again(world, page_of, live):
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
