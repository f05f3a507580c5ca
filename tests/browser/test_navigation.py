"""The navigation in Chromium: by keyboard, without scripts and on a phone."""

import pytest
from playwright.sync_api import expect

from annotations.models import Job
from tests import factories as make


@pytest.fixture
def mia(transactional_db):
    project = make.make_project("covid", name="Covid ward")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann])
    run = make.make_author(project, kind="run", name="rules-1")
    make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
    for number, state in enumerate(("running", "queued", "failed")):
        Job.objects.create(project=project, kind="gold", key=f"k{number}", state=state)
    return make.make_member(project, "manager", "mia")


def test_the_menus_open_without_scripts(mia, page_of, live):
    """On a phone, by keyboard: the button, then the first level, then the second level."""
    page = page_of(mia, "notes", "covid", viewport={"width": 390, "height": 844}, java_script_enabled=False)
    navigation = page.get_by_role("navigation", name="Project", exact=True)
    expect(navigation).to_be_hidden()
    page.locator(".nav-button > summary").focus()
    page.keyboard.press("Enter")
    expect(navigation).to_be_visible()
    expect(navigation.locator("[aria-current]")).to_have_text(["Notes", "List"])
    for name in ("Overview", "Notes", "List", "Import"):
        page.keyboard.press("Tab")
        expect(navigation.get_by_role("link", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(live("import", "covid"))
    # On a wide screen the gear.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live("project", "covid"))
    page.locator(".gear-menu > summary").press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Settings", exact=True)).to_be_focused()
    page.get_by_role("navigation", name="Project settings").get_by_role("link", name="Audit").press("Enter")
    expect(page).to_have_url(live("audit", "covid"))


def test_the_second_level_takes_no_height_where_text_is_read(mia, page_of, live):
    """On the review screen the header has the height of the first level, and its menu lists the second level."""
    page = page_of(mia, "acceptance", "covid", viewport={"width": 1440, "height": 900})
    header = page.locator(".site-head")
    tall = header.bounding_box()["height"]
    page.goto(live("reviews", "covid"))  # the only run leads to its next note
    assert "/review/" in page.url
    assert header.bounding_box()["height"] <= tall - 30
    page.locator(".second-menu > summary").press("Enter")
    expect(page.get_by_role("link", name="By string", exact=True)).to_be_visible()
    page.get_by_role("link", name="In bulk", exact=True).press("Enter")
    expect(page).to_have_url(live("review_bulk_new", "covid"))
