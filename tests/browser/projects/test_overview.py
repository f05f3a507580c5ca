"""The overview in Chromium: by keys, with steps that stay folded."""

import pytest
from playwright.sync_api import Page, expect

from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.models import Assignment, AssignmentState
from tests import factories as make


@pytest.fixture
def mia(transactional_db):
    """The manager of a project in which an adjudication waits."""
    project = make.make_project("covid", name="Covid ward")
    annotators = [make.make_member(project, user=name) for name in ("ann", "ben")]
    note = make.make_note(project, annotators=annotators)
    for person, label in zip(annotators, ("PATIENT", "DOCTOR"), strict=True):
        make.make_set(note, person, [(0, 11, label)], submitted=True)
    Assignment.objects.update(state=AssignmentState.DONE)
    figures_of(project=project, unit=ComparedUnit.TOKEN)
    return make.make_member(project, "manager", "mia")


def test_the_next_step_by_keys(mia, page_of):
    """The next step is the first stop of Tab, and the list of all steps stays open where it was opened."""
    page: Page = page_of(mia, "project", "covid")
    steps = page.locator("ol.steps")
    expect(steps).to_be_hidden()
    page.locator("summary", has_text="All steps").press("Enter")
    expect(steps).to_be_visible()
    page.reload()
    expect(steps).to_be_visible()
    page.locator("summary", has_text="All steps").press("Enter")
    expect(steps).to_be_hidden()
    page.reload()
    expect(steps).to_be_hidden()
    page.locator("#main").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Adjudicate", exact=True).and_(page.locator(".btn")).first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/adjudicate/")
