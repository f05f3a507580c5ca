"""Review of a refined run in Chromium: what the refiner did and why, the filter, proposed removals."""

import pytest
from playwright.sync_api import expect

from annotations.models import Review
from tests.browser.annotate.steps import press, reload, saved
from tests.browser.review.steps import chosen, gold, listed, open_review, states
from tests.worlds.refined import refine


@pytest.fixture
def refined(world):
    vars(world).update(vars(refine(world.project, world.note)))
    return world


def test_keys_alone(refined, page_of, live):
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
    saved(page, "a", "x")
    assert [state.split(" · ")[0] for state in states(page)] == ["accepted", "removed", "accepted", "kept in gold"]
    assert gold(refined.note) == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("HOSPITAL", "Torino")]
    # What was removed is no hint of a missed identifier.
    assert "54 anni" not in page.locator("#hints").inner_text()
    saved(page, "u")
    assert gold(refined.note)[-1] == ("DATE", "12/03/2021")
    reload(page, "review")
    saved(page, "c")  # the key of CITY keeps the annotation with this label
    assert gold(refined.note)[-1] == ("CITY", "Torino")
    press(page, "Enter")
    page.wait_for_url(f"**/review/{refined.run.pk}/**")
    expect(page.get_by_role("heading", name="is reviewed")).to_be_visible()
    assert Review.objects.get(author=refined.run).finished_by == refined.rita
