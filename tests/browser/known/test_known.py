"""Known identifiers in Chromium on a phone: upload, preview, import, values and terms."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.jobs.runner import run as work
from annotations.models import Job, KnownPerson, ListedTerm
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.release.known.files import CSV


@pytest.mark.nightly
def test_a_master_is_imported_and_terms_are_listed(
    transactional_db: None, page_of: Any, live: Any, tmp_path: Path
) -> None:
    project = make.make_project("covid")
    make.make_note(project, "Visto il sig. Brambillaschi.", "visita", patient_id="P-1")
    (tmp_path / "patients.csv").write_bytes(CSV)
    page = page_of(make.make_member(project, "manager", "mia"), **PHONE)
    page.goto(live("known", "covid"))
    page.locator("input[type=file]").first.set_input_files(tmp_path / "patients.csv")
    page.get_by_role("button", name="Preview import").click()
    page.wait_for_url("**/jobs/**")
    work(Job.objects.get().pk)
    page.get_by_role("link", name="Preview import").click()
    expect(page.get_by_role("heading", name="Preview of the patient master")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Import 2 patients").press("Enter")
    expect(page.get_by_text("Patient master imported. New: 2")).to_be_visible()
    page.get_by_role("link", name="Show patients").click()
    page.get_by_role("link", name="P-1").click()
    expect(page.get_by_text("Brambillaschi")).to_have_count(0)
    page.get_by_role("button", name="Show values").press("Enter")
    expect(page.get_by_text("Brambillaschi")).to_be_visible()
    assert fits(page)
    page.locator("summary", has_text="Delete from the master").click()
    page.locator(".confirm-panel").get_by_role("button", name="Delete from the master").click()
    page.wait_for_url("**/patients/")
    assert [row.patient_id for row in KnownPerson.objects.all()] == ["P-2"]

    page.goto(live("known", "covid"))
    page.get_by_label("Terms", exact=True).fill("Villa Azul\nTorre Blu")
    page.get_by_label("Label of denied terms").select_option("CITY")
    page.get_by_role("button", name="Add terms").press("Enter")
    page.get_by_role("button", name="Remove Villa Azul").click()
    expect(page.get_by_role("button", name="Remove Torre Blu")).to_be_visible()
    assert fits(page) and ListedTerm.objects.count() == 1
