"""The annotate page opens notes without loading a page: fetching ahead, leaving changes to be sent, and going back."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Event
from tests.browser.annotate.steps import open_note, painted, press, quotes, reload, saved


@pytest.fixture
def ready(world, page_of, live):
    """The first note, with the next one fetched; `stayed` tells whether the page was never loaded again."""
    page = page_of(world.ann)
    with page.expect_response("**/data?ahead=1"):
        open_note(page, live, world.notes[0])
    page.evaluate("window.stayed = true")
    return page


def is_open(page: Page, note: Any) -> None:
    expect(page.locator("#note-name")).to_have_text(note.name)
    expect(page.locator("#note")).to_be_focused()


def test_in_place_there_and_back(ready, world, live):
    first, second, third = world.notes
    saved(ready, "ArrowRight", "ArrowRight", "1")
    press(ready, "n")
    is_open(ready, second)
    assert ready.url == live("annotate", "covid", second.pk)
    assert ready.title().startswith(second.name)
    expect(ready.locator("#note")).to_have_attribute("aria-label", f"Text of {second.name}")
    expect(ready.locator("#notes [aria-current]")).to_have_text(second.name)
    expect(ready.locator("#crumb-note")).to_have_text(second.name)
    expect(ready.locator("#own-keys")).to_have_attribute("href", re.compile(rf"/keys/\?note={second.pk}$"))
    expect(ready.locator("#said")).to_contain_text(second.name)
    saved(ready, "ArrowRight", "c")
    assert quotes(world.ann, second) == [("CITY", "Paziente")]
    ready.locator("#notes").get_by_role("link", name=third.name).click()
    is_open(ready, third)
    expect(ready.locator("#next-note")).to_be_hidden()
    ready.go_back()
    is_open(ready, second)
    assert painted(ready) == [("CITY", "Paziente")]
    ready.go_back()
    is_open(ready, first)
    expect(ready.locator("#note .is-selected")).to_have_text("Mario")
    saved(ready, "2")
    assert quotes(world.ann, first) == [("DOCTOR", "Mario")]
    with ready.expect_response("**/spans?*opened=1"):
        ready.go_forward()
    is_open(ready, second)
    assert ready.evaluate("window.stayed")
    assert Event.objects.filter(verb="note.read", document_id=second.pk).count() == 3
    reload(ready)
    expect(ready.locator("#note .is-selected")).to_have_text("Paziente")
    stored = ready.evaluate("JSON.stringify([Object.values(sessionStorage), Object.values(localStorage)])")
    assert "Paziente" not in stored


def test_what_waits_goes_on_being_saved_in_the_note_that_was_left(ready, world):
    first, second, _ = world.notes
    ready.context.set_offline(True)
    press(ready, "ArrowRight", "1", "ArrowRight", "2")
    press(ready, "n")
    is_open(ready, second)
    expect(ready.locator("#save-state")).to_have_text("Offline, 2 waiting")
    press(ready, "ArrowRight", "c")
    expect(ready.locator("#save-state")).to_have_text("Offline, 3 waiting")
    press(ready, "p")
    is_open(ready, first)
    assert painted(ready) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    press(ready, "Control+z")
    press(ready, "n")
    is_open(ready, second)
    ready.context.set_offline(False)
    saved(ready)
    assert quotes(world.ann, first) == [("PATIENT", "Paziente")]
    assert quotes(world.ann, second) == [("CITY", "Paziente")]
    assert Event.objects.filter(verb__startswith="span.").count() == 4


def test_what_was_fetched_ahead_and_changed_since_is_brought_up_to_date(ready, world, page_of, live):
    other = open_note(page_of(beside=ready), live, world.notes[1])
    saved(other, "ArrowRight", "1")
    ready.bring_to_front()
    press(ready, "n")
    is_open(ready, world.notes[1])
    expect(ready.locator("#notice")).to_contain_text("1 span added")
    assert painted(ready) == [("PATIENT", "Paziente")]


def test_a_note_that_cannot_be_had_is_loaded_as_a_page(ready, world):
    third = world.notes[2]
    ready.route("**/data**", lambda route: route.fulfill(status=500))
    ready.locator("#notes").get_by_role("link", name=third.name).click()
    ready.wait_for_url(f"**/notes/{third.pk}/annotate/")
    ready.wait_for_selector("html[data-workbench=ready]")
    is_open(ready, third)
    assert not ready.evaluate("window.stayed")
    # A person without access to the next note gets the server's 404 or 403, although the note was fetched before.
    ready.unroute("**/data**")
    with ready.expect_response("**/data?ahead=1"):
        ready.reload()
    world.ann.assignments.exclude(document=third).delete()
    press(ready, "p")
    expect(ready.get_by_role("heading", name="This page was not found")).to_be_visible()
