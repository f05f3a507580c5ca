"""A project archive is uploaded in Chromium, on a phone."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import User
from tests.browser.widths import PHONE, fits
from tests.ops.archives.archived_world import archive_of, full_project


@pytest.mark.nightly
def test_an_archive_is_uploaded_and_its_people_are_shown(transactional_db: None, page_of: Any, live: Any) -> None:
    world = full_project()
    archive = archive_of(world.project)
    User.objects.filter(username="rosa").update(username="rosina")
    page = page_of(world.mia, **PHONE)
    page.goto(live("project_new"))
    page.get_by_role("link", name="Import a project archive").click()
    page.get_by_label("Project archive").set_input_files(
        {"name": "covid.zip", "mimeType": "application/zip", "buffer": archive}
    )
    page.get_by_label("Short name").fill("third")
    page.get_by_role("button", name="Upload archive").click()
    page.get_by_role("heading", name="Confirm the import").wait_for()
    expect(page.get_by_role("row").filter(has_text="rosa").last).to_contain_text("none of this name")
    assert page.url.startswith(live("project", "third"))
    assert fits(page)
