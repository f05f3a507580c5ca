"""Notices on the annotate page: where the annotations come from, the outcome, the pace."""

from types import SimpleNamespace
from typing import Any

from playwright.sync_api import expect

from annotations.models import AnnotationSet, Project, Span
from tests import factories as make
from tests.browser.annotate.steps import open_note, painted, press, quotes, saved


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
