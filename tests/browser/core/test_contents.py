"""The contents list of a long page: beside the text or folded, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.nightly
def test_beside_the_text_or_folded_on_a_phone(page_of, live):
    project = make.make_project("ward", name="Ward")
    page = page_of(make.make_member(project, "manager"))
    page.set_viewport_size({"width": 1440, "height": 500})
    page.goto(live("project_settings", "ward"))
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert contents.bounding_box()["x"] > page.locator(".page > section").first.bounding_box()["x"]
    headings = page.locator("main h2[id]").count()
    assert contents.get_by_role("link").count() == headings
    link = contents.get_by_role("link").nth(1)
    link.focus()
    page.keyboard.press("Enter")
    expect(link).to_have_attribute("aria-current", "location")
    expect(contents.locator("[aria-current]")).to_have_count(1)
    # The list stays in view.
    expect(link).to_be_in_viewport()
    page.keyboard.press("End")
    expect(contents.get_by_role("link").last).to_have_attribute("aria-current", "location")
    page.emulate_media(media="print")
    expect(contents).to_be_hidden()
    # Folded on a phone.
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(live("project_settings", "ward"))
    expect(contents.get_by_role("link").first).to_be_hidden()
    contents.locator("summary").press("Enter")
    expect(contents.get_by_role("link").first).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    last = contents.get_by_role("link").last
    target = page.locator(last.get_attribute("href"))
    last.click()
    expect(last).to_be_hidden()
    expect(target).to_be_in_viewport()
