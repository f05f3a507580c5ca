"""The pages of a project in Chromium: the managers' by keys on a phone, and the overview with folded steps."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.models import Assignment, AssignmentState, Category
from tests import factories as make
from tests.browser.widths import PHONE, fits


@pytest.fixture
def world(transactional_db):
    project = make.make_project("covid", guidelines="# Names\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx\n```")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann], patient_id="P1")
    make.make_set(note, ann, [(0, 11, "PATIENT")])
    return SimpleNamespace(project=project, note=note, ann=ann, mia=make.make_member(project, "manager", "mia"))


COVERED = """() => [...document.querySelectorAll(".label-table td:has(.actions)")].some((cell) =>
    cell.querySelector(".actions :is(a, button)").getBoundingClientRect().left < cell.getBoundingClientRect().left)"""


def test_categories_and_labels(world, page_of):
    """A category is added by keys and given to a label, and a double click adds one label."""
    page: Page = page_of(world.mia, "labels", "covid", **PHONE)
    for width in (1440, 800):
        page.set_viewport_size({"width": width, "height": 844})
        assert not page.evaluate(COVERED), "buttons cover no other cell"
    page.set_viewport_size(PHONE["viewport"])
    page.locator(".page-head").get_by_role("link", name="Add category").press("Enter")
    page.get_by_label("Name", exact=True).fill("Devices")
    page.keyboard.press("Tab")
    color = page.get_by_role("radio", name="Violet")
    while not color.is_checked():
        page.keyboard.press("ArrowRight")
    assert fits(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/labels/?category=*")
    expect(page.get_by_label("Category")).to_have_value(str(Category.objects.get(name="Devices").pk))
    page.get_by_role("button", name="Up Devices").press("Enter")
    page.get_by_role("link", name="Edit PATIENT").press("Enter")
    page.get_by_label("Category").select_option("Devices")
    page.get_by_label("Attributes").fill("Family\nStatus: current | past")
    page.get_by_role("button", name="Save").press("Enter")
    row = page.get_by_role("row").filter(has_text="PATIENT")
    expect(row.locator(".label-attributes")).to_contain_text("Status: current | past")
    expect(page.locator("tbody.hue-9", has_text="Devices").locator(".chip")).to_have_text("PATIENT")

    page.locator(".page-head").get_by_role("link", name="Add label").press("Enter")
    page.get_by_label("Name").fill("CANTON")
    page.get_by_role("button", name="Add label").dblclick()
    expect(page.get_by_role("link", name="Edit CANTON")).to_be_visible()
    expect(page.locator(".errorlist")).to_have_count(0)
    assert fits(page)
    # The note shows the color at its next load.
    page = page_of(world.ann, "annotate", "covid", world.note.pk)
    expect(page.locator(".span.hue-9")).to_have_text("Mario Rossi")


# ── The overview in Chromium: by keys, with steps that stay folded ──


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
