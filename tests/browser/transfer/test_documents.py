"""Documents in Chromium on a phone: options, preview beside pages, and the source on the page of a note."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.core.services import silent
from annotations.exchange.services.importing import run_import
from annotations.models import Document, Import
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.exchange.brat_files import pdf


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


def test_a_pdf_is_previewed_imported_and_shown(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia, "import", "covid", **PHONE)
    written = pdf("First page of Anna Neri. " * 20, "Second page.")
    page.locator("input[type=file]").first.set_input_files(
        {"name": f"{'long-name-' * 8}.pdf", "mimeType": "application/pdf", "buffer": written}
    )
    page.locator("summary", has_text="Options").first.click()
    page.get_by_label("Encoding of text").select_option("cp1252")
    page.get_by_label("Remove soft hyphens").check()
    assert fits(page)
    page.get_by_role("button", name="Preview import").first.click()
    page.wait_for_url("**/import/*/")
    expect(page.get_by_role("rowheader", name="page 2")).to_be_visible()
    expect(page.get_by_label("Remove soft hyphens")).to_be_checked()
    assert fits(page)
    page.get_by_label("Remove soft hyphens").uncheck()
    page.get_by_role("button", name="Read the documents again").click()
    expect(page.get_by_label("Remove soft hyphens")).not_to_be_checked()
    run_import(import_id=Import.objects.get().pk, progress=silent)
    page.goto(live("note", "covid", Document.objects.get().pk))
    expect(page.get_by_role("rowheader", name="page 2")).to_be_visible()
    assert fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download original").click()
    assert download.value.suggested_filename.endswith(".pdf")
    assert download.value.path().read_bytes() == written
