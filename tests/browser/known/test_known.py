"""Known identifiers in Chromium: upload, preview, import, lists, by keyboard and at narrow widths."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.jobs.runner import run as work
from annotations.models import Job, KnownPerson, ListedTerm
from tests import factories as make
from tests.known.files import CSV


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    make.make_note(project, "Visto il sig. Brambillaschi.", "visita", patient_id="P-1")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.parametrize("width", [390, 1280])
def test_a_master_is_uploaded_previewed_and_imported(
    world: Any, page_of: Any, live: Any, axe: Any, tmp_path: Path, width: int
) -> None:
    (tmp_path / "patients.csv").write_bytes(CSV)
    page = page_of(world.mia)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live("known", "covid"))
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("input[type=file]").first.set_input_files(tmp_path / "patients.csv")
    page.get_by_role("button", name="Preview import").click()
    page.wait_for_url("**/jobs/**")
    work(Job.objects.get().pk)
    page.reload()
    page.get_by_role("link", name="Preview import").click()
    expect(page.get_by_role("heading", name="Preview of the patient master")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Import 2 patients").press("Enter")
    expect(page.get_by_text("Patient master imported. New: 2")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Show patients").click()
    assert axe(page) == []
    page.get_by_role("link", name="P-1").click()
    expect(page.get_by_text("Brambillaschi")).to_have_count(0)
    page.get_by_role("button", name="Show values").press("Enter")
    expect(page.get_by_text("Brambillaschi")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("summary", has_text="Delete from the master").click()
    page.locator(".confirm-panel").get_by_role("button", name="Delete from the master").click()
    page.wait_for_url("**/patients/")
    assert [row.patient_id for row in KnownPerson.objects.all()] == ["P-2"]


@pytest.mark.parametrize("width", [390, 1280])
def test_terms_are_listed_and_removed(world: Any, page_of: Any, live: Any, axe: Any, width: int) -> None:
    page = page_of(world.mia)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live("known", "covid"))
    page.get_by_label("Terms", exact=True).fill("Villa Azul\nTorre Blu")
    page.get_by_label("Label of denied terms").select_option("CITY")
    page.get_by_role("button", name="Add terms").press("Enter")
    expect(page.get_by_text("2 terms were added.")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Remove Villa Azul").click()
    expect(page.get_by_text("Term removed.")).to_be_visible()
    assert ListedTerm.objects.count() == 1
