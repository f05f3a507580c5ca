"""The pages of project archives in a browser: accessible, and usable with the keyboard on a narrow screen."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from annotations.archives.services.staging import stage_archive
from annotations.models import StoredFile, User
from tests.archives.archived_world import archive_of, full_project


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    """A project, a stored archive of it, and the same archive uploaded as another project, without one account."""
    world = full_project()
    world.archive = archive_of(world.project)
    StoredFile.objects.create(project=world.project, kind="archive", name="covid-archive.zip", created_by=world.mia)
    User.objects.filter(username="rosa").update(username="rosina")
    world.copy, world.stored = stage_archive(file=io.BytesIO(world.archive), name="a.zip", slug="copy", actor=world.mia)
    return world


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_every_page_is_accessible_and_fits(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    urls = [live("archive_export", "covid"), live("archive_import"), live("project_settings", "covid")]
    urls += [live("project_new"), live("archive_confirm", "copy", world.stored.pk)]
    found = []
    for url in urls:
        page.goto(url)
        found += [f"{url}: {line}" for line in axe(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{url}: wider than the screen")
    assert found == []


def test_an_archive_is_uploaded_and_its_people_are_shown(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.mia)
    page.goto(live("project_new"))
    page.get_by_role("link", name="Import a project archive").click()
    page.get_by_label("Project archive").set_input_files(
        {"name": "covid.zip", "mimeType": "application/zip", "buffer": world.archive}
    )
    page.get_by_label("Short name").fill("third")
    page.get_by_role("button", name="Upload archive").click()
    page.get_by_role("heading", name="Confirm the import").wait_for()
    row = page.get_by_role("row").filter(has_text="rosa").last
    assert "new, inactive account" in row.inner_text()
    assert page.url.startswith(live("project", "third"))
