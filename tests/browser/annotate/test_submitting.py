"""Submitting: the question about a note without spans, undo on the next page, the key that reopens; notices."""

from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Assignment, Project, Span
from tests import factories as make
from tests.browser.annotate.steps import TEXT, open_note, painted, press, quotes, saved


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


# ── Notices on the annotate page: where the annotations come from, the outcome, the pace ──


def seed(world: SimpleNamespace, note: Any) -> None:
    """Let annotators begin from a run's spans, of which this note has one."""
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(note, run, [(9, 20, "PATIENT")], submitted=True)
    Project.objects.filter(pk=world.project.pk).update(seed_from=run)


def test_annotations_that_could_not_be_started(world, page_of, live):
    """The page says so, accepts no changes, and offers to try again, after a reload too."""
    seed(world, world.note)
    page = page_of(world.ann)
    page.route("**/start", lambda route: route.abort())
    notice, button = page.locator("#notice"), page.get_by_role("button", name="Start annotations")
    for _ in range(2):
        open_note(page, live, world.note)
        expect(notice).to_contain_text("The server can't be reached. Your annotations were not started.")
        expect(button).to_be_enabled()
        press(page, "ArrowRight", "1", "Enter")
        expect(notice).to_contain_text("Your annotations of this note are not started yet.")
        expect(page.locator("#submit")).to_be_hidden()
        assert painted(page) == []
    assert not Span.objects.filter(annotation_set__author__user=world.ann).exists()
    page.unroute("**/start")
    button.click()
    expect(page.locator("#seeded")).to_have_text("Began from the spans of rules-1.")
    expect(notice).to_be_hidden()
    expect(button).to_be_hidden()
    saved(page, "ArrowRight", "2")
    assert painted(page) == quotes(world.ann, world.note)
    assert [label for label, _ in painted(page)] == ["PATIENT", "DOCTOR"]


def test_a_second_tab_finds_the_annotations_started(world, page_of, live):
    seed(world, world.note)
    late = page_of(world.ann)
    late.route("**/start", lambda route: route.abort())
    open_note(late, live, world.note)
    expect(late.locator("#notice")).to_be_visible()
    second = open_note(page_of(beside=late), live, world.note)
    expect(second.locator("#seeded")).to_have_text("Began from the spans of rules-1.")
    late.evaluate("() => window.dispatchEvent(new Event('focus'))")
    expect(late.locator("#seeded")).to_have_text("Began from the spans of rules-1.")
    expect(late.locator("#submit")).to_be_visible()
    assert painted(late) == [("PATIENT", "Mario Rossi")]
    assert AnnotationSet.objects.filter(author__user=world.ann).count() == 1


def test_withdrawn_annotations(opened, world, live):
    """No more changes are accepted, and the page says why, even if it was open before."""
    word, buttons = opened.locator("#withdrawn"), opened.locator("#submit, #reopen")
    saved(opened, "ArrowRight", "1")
    expect(word).to_be_hidden()
    AnnotationSet.objects.update(state="withdrawn")
    press(opened, "ArrowRight", "2")
    expect(opened.locator("#notice")).to_contain_text(
        "These annotations were withdrawn when you left the project. Ask a manager to add you again."
    )
    for _ in range(2):
        expect(word).to_contain_text("withdrawn when their author left the project")
        expect(buttons.locator("visible=true")).to_have_count(0)
        assert painted(opened) == quotes(world.ann, world.note) == [("PATIENT", "Paziente")]
        open_note(opened, live, world.note)
