"""Submit while changes wait, and return to a page: it sends them first, and asks the server for the saved state."""

from django.db.models import F
from playwright.sync_api import Route, expect

from annotations.models import AnnotationSet
from tests import factories as make
from tests.browser.annotate.steps import TEXT, hold, open_note, painted, place, press, quotes, saved, wait_for_held

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
