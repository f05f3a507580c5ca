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


def test_times_figures_and_words_are_sorted(page_of: Any) -> None:
    """The newest first. As words, 1 Dec 2025 would come before 3 Oct 2026, and 25 Nov 2026 after both; so would 2."""
    project = make.make_project("ward", name="Ward")
    mia, people = make.make_member(project, "manager", "mia"), []
    for name, day in (("ada", (2026, 10, 3)), ("ben", (2026, 11, 25)), ("cleo", (2025, 12, 1))):
        people.append(person := make.make_member(project, user=name))
        with patch("django.utils.timezone.now", return_value=datetime(*day, 9, tzinfo=UTC)):
            NOTE_READ.record(actor=person, project_id=project.pk, data={"what": "note"})
    make.make_member(project, user="dan")
    for number in range(10):
        make.make_note(project, annotators=people[number > 1 : 2])
    page = page_of(mia, "project", "ward")
    page.locator("summary", has_text="Figures, people and languages").click()
    table = page.get_by_role("table", name="Members with their last activity")
    head = table.get_by_role("columnheader", name="Last activity")
    button, before = head.get_by_role("button"), column(table, 1)
    button.click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["ben", "ada", "cleo"]
    assert "dan" not in column(table, 1)[:3], "who did nothing comes last"
    page.keyboard.press("Enter")
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["cleo", "ada", "ben"]
    page.keyboard.press("Enter")
    assert column(table, 1) == before
    table.get_by_role("columnheader", name="To do").get_by_role("button").press("Space")
    assert column(table, 1)[:2] == ["ben", "ada"], "10 is more than 2"
    table.get_by_role("columnheader", name="Name").get_by_role("button").press("Space")
    assert column(table, 1) == sorted(before)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(button).to_be_disabled()
