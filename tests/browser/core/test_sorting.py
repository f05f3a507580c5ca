"""Tables that are complete on one page are sorted by their columns, by mouse and by keyboard."""

from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from playwright.sync_api import Locator

from annotations.core.events import NOTE_READ
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def column(table: Locator, number: int) -> list[str]:
    return [text.split("\n")[0].strip() for text in table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()]


def test_times_are_sorted_as_times(page_of, live):
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
    table = page.get_by_role("table", name="Members with their last activity")
    button = table.get_by_role("button", name="Last activity")
    button.click()
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["ben", "ada", "cleo"]
    assert "dan" not in column(table, 1)[:3], "who did nothing comes last"
    button.click()
    assert [name for name in column(table, 1) if name not in ("mia", "dan")] == ["cleo", "ada", "ben"]
