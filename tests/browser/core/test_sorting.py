"""Tables that are complete on one page are sorted by their columns, by mouse and by keyboard."""

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from playwright.sync_api import Locator, expect

from annotations.core.services import NOTE_READ
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def column(table: Locator, number: int) -> list[str]:
    return [text.split("\n")[0].strip() for text in table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()]


@pytest.mark.nightly
def test_a_table_is_sorted_by_a_column(page_of: Any, live: Any) -> None:
    project = make.make_project("ward", name="Ward")
    annotators = [make.make_member(project, user=name) for name in ("anna", "bruno")]
    for number in range(4):
        note = make.make_note(project, annotators=annotators)
        for position, person in enumerate(annotators):
            spans = [(0, 11, "PATIENT"), (13, 15 if (number + position) % 3 else 20, "AGE"), (43, 49, "CITY")]
            make.make_set(note, person, spans[: 3 - (number == 1)], submitted=True)
    page = page_of(make.make_member(project, "reviewer"))
    page.goto(live("agreement", "ward") + "?granularity=label")
    page.get_by_text("All labels", exact=True).click()
    table = page.get_by_role("table", name="Krippendorff's alpha for each label against all other labels")
    labels, alphas = column(table, 1), [float(value) for value in column(table, 2)]
    assert len(set(alphas)) > 1

    head = table.get_by_role("columnheader", name="α")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [float(value) for value in column(table, 2)] == sorted(alphas, reverse=True)

    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert [float(value) for value in column(table, 2)] == sorted(alphas)

    page.keyboard.press("Enter")
    expect(head).not_to_have_attribute("aria-sort", "ascending")
    assert column(table, 1) == labels

    table.get_by_role("columnheader", name="Label", exact=True).get_by_role("button").press("Space")
    assert column(table, 1) == sorted(labels)
    expect(table.get_by_role("columnheader", name="Plot").get_by_role("button")).to_have_count(0)

    page.set_viewport_size({"width": 390, "height": 844})
    expect(head.get_by_role("button")).to_be_disabled()


def test_times_are_sorted_as_times(page_of: Any, live: Any) -> None:
    """The newest first. As words, 1 Dec 2025 would come before 3 Oct 2026, and 25 Nov 2026 after both."""
    project = make.make_project("ward", name="Ward")
    mia = make.make_member(project, "manager", "mia")
    for name, day in (("ada", (2026, 10, 3)), ("ben", (2026, 11, 25)), ("cleo", (2025, 12, 1))):
        person = make.make_member(project, user=name)
        with patch("django.utils.timezone.now", return_value=datetime(*day, 9, tzinfo=UTC)):
            NOTE_READ.record(actor=person, project_id=project.pk, data={"what": "note"})
    make.make_member(project, user="dan")
    make.make_note(project)
    page = page_of(mia)
    page.goto(live("project", "ward"))
    page.locator("summary", has_text="Figures, people and languages").click()
    table = page.get_by_role("table", name="Members with their last activity")
    button = table.get_by_role("button", name="Last activity")
    button.click()
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["ben", "ada", "cleo"]
    assert "dan" not in column(table, 1)[:3], "who did nothing comes last"
    button.click()
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["cleo", "ada", "ben"]
