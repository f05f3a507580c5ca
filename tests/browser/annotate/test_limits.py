"""The annotate page at a limit: changes wait and are sent later, or are refused with a message; nothing is lost."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Event, Span
from tests.browser.annotate.steps import painted, press, quotes, saved


@pytest.mark.both_databases
def test_too_many_requests_make_the_page_wait_and_lose_nothing(opened: Page, world: SimpleNamespace) -> None:
    answers: list[int] = []

    def busy(route: Any) -> None:
        answers.append(len(answers))
        if len(answers) <= 2:
            route.fulfill(
                status=429, headers={"Retry-After": "2"}, json={"error": "requests", "message": "Too many requests."}
            )
        else:
            route.continue_()

    opened.route("**/changes", busy)
    press(opened, "ArrowRight", "ArrowRight", "1")
    expect(opened.locator("#save-state")).to_have_text("Saving shortly, 1 waiting")
    expect(opened.locator("#notice")).to_contain_text("saved automatically")
    press(opened, "ArrowRight", "2", "Control+z", "Control+y")
    expect(opened.locator("#save-state")).to_have_text("Saving shortly, 4 waiting")
    # What is done meanwhile, or somebody who comes back to the page, doesn't send it earlier.
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    assert len(answers) <= 2
    saved(opened)
    assert quotes(world.ann, world.note) == painted(opened) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    assert Event.objects.filter(verb__startswith="span.").count() == 4
    expect(opened.locator("#notice")).to_contain_text("All changes are saved.")


def test_the_message_follows_what_the_changes_wait_for(opened: Page) -> None:
    """First the server is busy, then the person is signed out: only the second message says what to do."""
    answers = []

    def first_busy(route: Any) -> None:
        answers.append(route.request.url)
        if len(answers) == 1:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "requests", "message": "Busy."})
        else:
            route.continue_()

    opened.route("**/changes", first_busy)
    opened.context.clear_cookies()
    press(opened, "ArrowRight", "1")
    expect(opened.locator("#notice")).to_contain_text("The server is busy with your other requests.")
    expect(opened.locator("#notice")).to_contain_text("Sign in again in another tab to save it.")
    expect(opened.locator("#save-state")).to_have_text("Signed out, 1 waiting")


def test_a_full_note_refuses_a_span_in_a_sentence_and_undo_goes_on(
    opened: Page, world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotations.core.room.MOST_SPANS", 2)
    press(opened, "ArrowRight", "ArrowRight", "1", "ArrowRight", "2")
    saved(opened)
    before = painted(opened)
    press(opened, "ArrowRight", "d")
    expect(opened.locator("#notice")).to_contain_text("an annotation set holds at most 2 spans on one note")
    saved(opened)
    assert painted(opened) == before == quotes(world.ann, world.note)
    press(opened, "Control+z")
    expect(opened.locator("#note .span")).to_have_count(1)
    saved(opened)
    assert painted(opened) == quotes(world.ann, world.note) == before[:1]
    assert Span.objects.count() == 1
