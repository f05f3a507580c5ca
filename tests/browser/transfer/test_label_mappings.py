"""A label mapping is made by keys alone in Chromium, and an export uses it."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Job, LabelMapping
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.exchange.brat_files import SPANS


@pytest.mark.nightly
def test_a_mapping_is_made_by_keys_and_an_export_uses_it(transactional_db: None, page_of: Any, live: Any) -> None:
    project = make.make_project("covid")
    note = make.make_note(project, name="caso-001")
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), SPANS[:4], submitted=True)
    page = page_of(make.make_member(project, "manager", "mia"), **PHONE)
    page.goto(live("label_mappings", "covid"))
    page.get_by_label("Name").focus()
    page.keyboard.type("Free")
    page.keyboard.press("Tab")
    page.keyboard.press("End")  # any codes
    expect(page.get_by_label("Labels to write")).to_have_value("")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/export/labels/*/")
    page.get_by_label("Written code of PATIENT").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("ein Name")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("X")  # DOCTOR: its own code was suggested and selected
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("can't be written for the label “PATIENT”")).to_be_visible()
    expect(page.get_by_label("Leave out the spans of DOCTOR")).to_be_checked()
    assert fits(page)
    page.get_by_label("Written code of PATIENT").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("NAME")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Export with this mapping").press("Enter")
    mapping = LabelMapping.objects.get()
    codes = {row.label.name: row.code for row in mapping.rows.select_related("label")}
    assert codes["PATIENT"] == "NAME" and codes["DOCTOR"] == "" and codes["CITY"] == "CITY"

    page.get_by_label("Format").select_option("conll")
    page.get_by_label("Tokens").select_option("spacy")
    page.get_by_label("Empty row after each sentence").check()
    page.get_by_label("Insert spaces around attached spans").check()
    page.get_by_role("button", name="Preview labels").click()
    expect(page.get_by_role("row", name="NAME")).to_contain_text("1")
    assert fits(page)
    page.get_by_role("button", name="Start export").click()
    page.wait_for_url("**/jobs/**")
    params = Job.objects.get().params
    assert params["labels"]["mapping"] == mapping.pk
    assert params["options"] == {"sentences": True, "spaced": True, "tokenizer": "spacy"}
