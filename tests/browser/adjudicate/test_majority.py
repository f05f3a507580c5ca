"""A majority vote over notes with preview, result and undo, and disagreements by sentence, on a phone."""

import pytest
from playwright.sync_api import expect

from annotations.jobs.services.worker import perform
from annotations.models import Job
from tests import factories as make

NAME, CITY, HOSPITAL = (0, 11, "PATIENT"), (44, 50, "CITY"), (44, 50, "HOSPITAL")

pytestmark = pytest.mark.django_db(transaction=True)


def check(page, axe):
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.nightly
def test_from_the_preview_to_the_undo(page_of, live, axe, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    project = make.make_project("ward", name="Ward")
    people = [make.make_member(project, user=name) for name in ("anna", "bruno", "carla")]
    for name, sets in (("whole", [[NAME], [NAME], []]), ("tied", [[NAME, CITY], [NAME, HOSPITAL], [NAME]])):
        note = make.make_note(project, name=name)
        for person, spans in zip(people, sets, strict=True):
            make.make_set(note, person, spans, submitted=True)
    page = page_of(make.make_member(project, "reviewer"))
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")

    page.goto(live("disagreements", "ward"))
    page.get_by_role("link", name="By sentence").click()
    expect(page.get_by_role("columnheader", name="bruno")).to_be_visible()
    check(page, axe)

    page.goto(live("majority", "ward"))
    check(page, axe)
    page.get_by_role("button", name="Decide 2 notes by majority").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Majority vote")
    perform(Job.objects.get(kind="majority").pk)
    page.reload()
    page.get_by_role("link", name="Show majority vote").click()
    expect(page.locator("#gold")).to_have_text("1")
    check(page, axe)
    page.get_by_role("button", name="Undo majority vote").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Undo of a majority vote")
    perform(Job.objects.get(kind="majority_undo").pk)
    page.goto(live("majority", "ward"))
    expect(page.get_by_role("button", name="Decide 2 notes by majority")).to_be_visible()
