"""The navigation in Chromium: by keyboard, without scripts and on a phone."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Job, Label
from tests import factories as make


@pytest.fixture
def mia(transactional_db: None) -> Any:
    project = make.make_project("covid", name="Covid ward")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann])
    run = make.make_author(project, kind="run", name="rules-1")
    make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
    for number, state in enumerate(("running", "queued", "failed")):
        Job.objects.create(project=project, kind="gold", key=f"k{number}", state=state)
    return make.make_member(project, "manager", "mia")


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_menus_open_without_scripts(mia: Any, page_of: Any, live: Any) -> None:
    """On a phone, by keyboard: the button, then the first level, then the second level."""
    page = page_of(mia, viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page.goto(live("notes", "covid"))
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


def test_the_second_level_takes_no_height_where_text_is_read(mia: Any, page_of: Any, live: Any) -> None:
    """On the review screen the header has the height of the first level, and its menu lists the second level."""
    page = page_of(mia, viewport={"width": 1440, "height": 900})
    page.goto(live("acceptance", "covid"))
    header = page.locator(".site-head")
    tall = header.bounding_box()["height"]
    page.goto(live("reviews", "covid"))  # the only run leads to its next note
    assert "/review/" in page.url
    assert header.bounding_box()["height"] <= tall - 30
    page.locator(".second-menu > summary").press("Enter")
    expect(page.get_by_role("link", name="By string", exact=True)).to_be_visible()
    page.get_by_role("link", name="In bulk", exact=True).press("Enter")
    expect(page).to_have_url(live("review_bulk_new", "covid"))


@pytest.mark.nightly
def test_breadcrumbs_and_the_bar_do_not_overlap_and_nothing_moves(mia: Any, page_of: Any, live: Any) -> None:
    """On a phone, on a page of the third level."""
    page = page_of(mia, viewport={"width": 390, "height": 844})
    page.goto(live("label_edit", "covid", Label.objects.get(code="HOSPITAL").pk))
    crumbs, bar = page.locator(".crumbs").bounding_box(), page.locator(".bar-end").bounding_box()
    assert crumbs["x"] + crumbs["width"] <= bar["x"]
    last = page.locator(".crumbs li:visible")
    expect(last).to_have_count(1)
    assert last.evaluate("one => one.getBoundingClientRect().right") <= bar["x"]
    assert fits(page)
    # Nothing moves while the page loads.
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(live("loop", "covid"))
        moved = page.evaluate(
            """() => new Promise((done) => {
                let sum = 0;
                new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
                  .observe({ type: "layout-shift", buffered: true });
                requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
            })"""
        )
        assert moved < 0.01
