"""Saving on the review page: offline, repeated, signed in as another person, with two reviewers."""

from playwright.sync_api import expect

from annotations.models import Decision
from tests.browser.annotate.steps import click_text, painted, press, saved
from tests.browser.conftest import session_cookie
from tests.browser.review.steps import decided, gold, open_review


def test_decisions_are_saved_once_and_for_one_person(many, world, live_server):
    page = many.page
    # Offline decisions are kept and sent in order.
    page.context.set_offline(True)
    press(page, "a", "x", "c")
    expect(page.locator("#save-state")).to_have_text("Offline, 3 waiting")
    press(page, "k", "k", "a", "u")
    expect(page.locator("#save-state")).to_have_text("Offline, 5 waiting")
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("still open")
    assert decided(many.note) == 0
    page.context.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    assert many.gold == [("PATIENT", "Mario Rossi"), ("CITY", "Torino")]
    assert decided(many.note) == 5
    assert [label for label, _ in painted(page)] == ["PATIENT", "DATE", "CITY", "DOCTOR"]
    # Finishing offline keeps the page.
    many.go_on()
    saved(page, "a", "a", "a", "a")
    page.context.set_offline(True)
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("The note was not finished")
    page.context.set_offline(False)
    press(page, "Enter")
    expect(page.locator("#note-name")).not_to_have_text(many.note.name)
    page.wait_for_selector("html[data-review=ready]")
    # No decision is saved for another person.
    many.go_on()
    page.context.clear_cookies()
    press(page, "a")
    expect(page.locator("#save-state")).to_have_text("Signed out, 1 waiting")
    page.context.add_cookies([session_cookie(world.rosa, live_server.url)])
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#save-state")).to_have_text("Another person is signed in, 1 waiting")
    expect(page.locator("#notice")).to_contain_text("Another person is signed in in this browser.")
    assert decided(many.note) == 0
    page.context.add_cookies([session_cookie(world.rita, live_server.url)])
    page.evaluate("window.dispatchEvent(new Event('online'))")
    saved(page)
    assert Decision.objects.get(review__document=many.note).reviewer == world.rita


def test_two_reviewers_lose_no_decision(opened, world, page_of, live):
    other = open_review(page_of(world.rosa), live, world)
    saved(opened, "a")
    # Rosa still sees it as open and rejects it: the server refuses, says why, and shows the current state.
    press(other, "x")
    expect(other.locator("#notice")).to_contain_text("decided on this meanwhile. Your decision was not saved")
    expect(other.locator("#suggestions .is-accepted")).to_contain_text("Mario Rossi")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    # Each goes on with suggestions that the other has not decided; both pages show the same in the end.
    # It is selected again, so that she decides again about it, not about the next one.
    expect(other.locator("#note .is-selected")).to_have_text("Mario Rossi")
    saved(other, "j", "x")  # the date
    press(opened, "j", "a")  # Torino
    expect(opened.locator("#notice")).to_contain_text("This note was changed by someone else")
    saved(opened)
    other.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(other.locator("#suggestions .is-accepted")).to_have_count(2)
    assert painted(other) == painted(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("HOSPITAL", "Torino")]
    # Having seen it, Rosa may decide differently; Rita's undo does not revert that.
    click_text(other, "Torino")
    saved(other, "x")
    press(opened, "u")
    expect(opened.locator("#notice")).to_contain_text("Later decisions changed this span")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
