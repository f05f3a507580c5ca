"""Review of a refined run in Chromium: what the refiner did and why, the filter, proposed removals."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import RemovalDecision, Review
from tests.browser.annotate.steps import press, saved
from tests.browser.review.steps import act, chosen, gold, open_review, states, world
from tests.worlds.refined import refine

__all__ = ["world"]  # the fixture


@pytest.fixture
def refined(world: SimpleNamespace) -> SimpleNamespace:
    vars(world).update(vars(refine(world.project, world.note)))
    return world


def listed(page: Page) -> list[str]:
    return page.locator("#suggestions .de-quote").all_inner_texts()


def test_keys_alone(refined: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = open_review(page_of(refined.rita), live, refined)
    assert listed(page) == ["Mario Rossi", "54 anni", "12/03/2021", "Torino"]
    expect(page.locator("#chosen")).to_contain_text("Kept by the refiner: A name after a title.")
    press(page, "a")
    # The proposed removal is selected next. It is struck, and its name for screen readers says what it is.
    expect(page.locator("#chosen-title")).to_have_text("Proposed removal")
    expect(page.locator("#chosen")).to_contain_text("The refiner proposes to remove this: No identifier here.")
    expect(chosen(page)).to_contain_text("proposed removal")
    span = page.locator("#note .span", has_text="54 anni")
    assert span.evaluate("node => getComputedStyle(node).textDecorationLine") == "line-through"
    expect(span).to_have_accessible_name("AGE, proposed removal")
    press(page, "a")
    expect(page.locator("#chosen")).to_contain_text("Before: 12 AGE")
    expect(page.locator("#chosen")).to_contain_text("Now: 12/03/2021 DATE")
    expect(page.locator("#chosen")).to_contain_text("Changed by the refiner: A whole date.")
    press(page, "a", "x")
    saved(page)
    assert [state.split(" · ")[0] for state in states(page)] == ["accepted", "removed", "accepted", "kept in gold"]
    assert gold(refined.note) == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("HOSPITAL", "Torino")]
    # What was removed is no hint of a missed identifier.
    assert "54 anni" not in page.locator("#hints").inner_text()
    press(page, "u")
    saved(page)
    assert gold(refined.note)[-1] == ("DATE", "12/03/2021")
    page.reload()
    page.wait_for_selector("html[data-review=ready]")
    press(page, "c")  # the key of CITY keeps the annotation with this label
    saved(page)
    assert gold(refined.note)[-1] == ("CITY", "Torino")
    press(page, "Enter")
    page.wait_for_url(f"**/review/{refined.run.pk}/**")
    expect(page.get_by_role("heading", name="is reviewed")).to_be_visible()
    assert Review.objects.get(author=refined.run).finished_by == refined.rita


@pytest.mark.nightly
def test_the_filter_by_mouse_and_by_keyboard_survives_a_reload(
    refined: SimpleNamespace, page_of: Any, live: Any
) -> None:
    page = open_review(page_of(refined.rita), live, refined)
    page.locator("#filters-box summary").click()
    action = page.get_by_label("Refiner’s action")
    names = ["All (4)", "Kept (1)", "Changed (1)", "Removed (2)"]
    assert action.locator("option").all_inner_texts() == names
    action.select_option("remove")
    assert listed(page) == ["54 anni", "Torino"]
    assert page.url.endswith("?action=remove")
    page.reload()
    page.wait_for_selector("html[data-review=ready]")
    assert listed(page) == ["54 anni", "Torino"]
    expect(page.locator("#filtered")).not_to_be_empty()
    action.focus()
    action.press("ArrowUp")
    assert listed(page) == ["12/03/2021"]
    action.press("ArrowUp")
    assert listed(page) == ["Mario Rossi"]
    page.get_by_role("button", name="Show all").click()
    assert len(listed(page)) == 4
    page.goto(page.url.split("?")[0] + "?state=rejected")
    page.wait_for_selector("html[data-review=ready]")
    assert listed(page) == []
    expect(page.locator("#chosen")).to_have_text("The filter matches no suggestion in this note.")
    # The notice has a line of its own, below the heading.
    heading, notice = page.get_by_role("heading", name="Filter and order"), page.locator("#filtered")
    assert heading.bounding_box()["y"] + heading.bounding_box()["height"] <= notice.bounding_box()["y"]


@pytest.mark.nightly
def test_the_rest_by_mouse_asks_before_it_accepts_removals(refined: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = open_review(page_of(refined.rita), live, refined)
    act(page, "accept").click()
    act(page, "reject").click()
    expect(page.locator("#removal-count")).to_contain_text("1 proposed removal is open")
    page.get_by_role("button", name="Accept the rest (2)").click()
    expect(page.locator("#notice")).to_contain_text("This is a proposed removal. Decide on it, or select the box")
    expect(chosen(page)).to_contain_text("Torino")
    page.get_by_label("Let “Accept the rest” accept proposed removals").check()
    page.get_by_role("button", name="Accept the rest (2)").click()
    # Another run found a name that this one lacks, which the reviewer checks first.
    expect(page.locator("#chosen-title")).to_have_text("Possible missed identifier")
    page.get_by_role("button", name="Accept the rest (2)").click()
    expect(page.get_by_role("heading", name="is reviewed")).to_be_visible()
    assert gold(refined.note) == [("PATIENT", "Mario Rossi"), ("AGE", "54 anni"), ("DATE", "12/03/2021")]
    verdicts = dict(RemovalDecision.objects.values_list("number", "verdict"))
    assert verdicts == {refined.also_removed: "rejected", refined.removed: "accepted"}


@pytest.mark.nightly
def test_a_phone(refined: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": "dark"}
    page = open_review(page_of(refined.rita, **options), live, refined)
    act(page, "accept").tap()
    act(page, "accept").tap()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("accept", "reject"):
        expect(act(page, name)).to_be_in_viewport(ratio=1)
    page.locator("#filters-box summary").tap()
