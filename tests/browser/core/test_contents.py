"""The contents list of a long page: beside the text or folded, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def make_ward():
    """Four notes of two annotators who differ. Return a reviewer."""
    project = make.make_project("ward", name="Ward")
    annotators = [make.make_member(project, user=name) for name in ("anna", "bruno")]
    for number in range(4):
        note = make.make_note(project, annotators=annotators)
        for position, person in enumerate(annotators):
            spans = [(0, 11, "PATIENT"), (13, 15 if (number + position) % 3 else 20, "AGE"), (43, 49, "CITY")]
            make.make_set(note, person, spans[: 3 - (number == 1)], submitted=True)
    return make.make_member(project, "reviewer")


@pytest.mark.nightly
def test_beside_the_text_or_folded_on_a_phone(page_of, live):
    page = page_of(make_ward())
    page.goto(live("agreement", "ward"))
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert contents.bounding_box()["x"] > page.locator(".page > section").first.bounding_box()["x"]
    headings = page.locator("main h2[id]").count()
    assert contents.get_by_role("link").count() == headings
    link = contents.get_by_role("link").nth(3)
    link.focus()
    page.keyboard.press("Enter")
    expect(link).to_have_attribute("aria-current", "location")
    expect(contents.locator("[aria-current]")).to_have_count(1)
    # The list stays in view.
    expect(link).to_be_in_viewport()
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 100_000)
    expect(contents.get_by_role("link").last).to_have_attribute("aria-current", "location")
    page.emulate_media(media="print")
    expect(contents).to_be_hidden()
    # Folded on a phone.
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(live("agreement", "ward"))
    expect(contents.get_by_role("link").first).to_be_hidden()
    contents.locator("summary").press("Enter")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    last = contents.get_by_role("link").last
    target = page.locator(last.get_attribute("href"))
    last.click()
    expect(last).to_be_hidden()
    expect(target).to_be_in_viewport()
