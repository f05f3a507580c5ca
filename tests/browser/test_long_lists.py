"""Pages with a long list fit the window in Chromium: the list scrolls below its head, and keeps its place."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests import factories as make
from tests.browser.widths import PHONE


@pytest.fixture
def manager(transactional_db: None) -> Any:
    project = make.make_project("covid")
    for number in range(45):
        make.make_note(project, f"Text {number}", f"note-{number:02}")
    return make.make_member(project, "manager", "mia")


def test_list_of_notes_scrolls_between_its_filters_and_its_actions(page_of, live, manager):
    page = page_of(manager)
    page.goto(live("notes", "covid"))
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    last = page.get_by_role("link", name="note-40", exact=True)
    last.scroll_into_view_if_needed()
    for part in ("#tick-all", "#show-all", "#ticked .act-bar"):
        expect(page.locator(part)).to_be_in_viewport()
    page.wait_for_function("history.state?.list > 0")
    last.click()
    page.go_back()
    expect(last).to_be_in_viewport()


def test_list_of_notes_on_a_phone_scrolls_with_the_page(page_of, live, manager):
    page = page_of(manager, **PHONE)
    page.goto(live("notes", "covid"))
    assert page.evaluate("document.querySelector('.long-list').scrollHeight < document.documentElement.scrollHeight")
    assert page.evaluate("getComputedStyle(document.querySelector('.long-list')).maxHeight") == "none"
