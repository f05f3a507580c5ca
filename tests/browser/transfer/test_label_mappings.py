"""Label mappings in Chromium: add, edit, preview, export and map back; by mouse and by keyboard, wide and narrow."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Import, Job, LabelMapping
from annotations.transfer.services.label_choices import unknown_of
from tests import factories as make
from tests.transfer.mapped import SPANS, make_mapping


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    note = make.make_note(project, name="caso-001")
    make.make_set(note, make.make_author(project, kind="gold", name="gold"), SPANS[:4], submitted=True)
    mia = make.make_member(project, "manager", "mia")
    return SimpleNamespace(project=project, mia=mia, rev=make.make_member(project, "reviewer", "rev"))


def codes(mapping: LabelMapping) -> dict[str, str]:
    return {row.label.name: row.code for row in mapping.rows.select_related("label")}


def check(page: Page, axe: Any) -> None:
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width, scheme", [(390, "dark"), (1280, "light")])
def test_add_edit_preview_and_export_by_mouse(
    world: Any, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(live("export", "covid"))
    page.get_by_role("main").get_by_role("link", name="Label mappings").click()
    check(page, axe)
    page.get_by_label("Name").fill("For the partner")
    page.get_by_label("Labels to write").select_option("it-4")
    page.get_by_role("button", name="Add label mapping").click()
    page.wait_for_url("**/export/labels/*/")
    check(page, axe)
    for label, code in {"PATIENT": "NOME", "DOCTOR": "NOME", "DATE": "DATA", "CITY": "LUOGO_INDIRIZZO"}.items():
        page.get_by_label(f"Written code of {label}").select_option(code)
    for label in ("AGE", "HOSPITAL"):
        page.get_by_label(f"Leave out the spans of {label}").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Exports can use this mapping.")).to_be_visible()
    check(page, axe)
    mapping = LabelMapping.objects.get()
    assert codes(mapping) == {
        "PATIENT": "NOME", "DOCTOR": "NOME", "DATE": "DATA", "CITY": "LUOGO_INDIRIZZO", "AGE": "", "HOSPITAL": "",
    }  # fmt: skip
    page.get_by_role("link", name="Export with this mapping").click()
    check(page, axe)
    page.get_by_role("button", name="Preview labels").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Labels of the export")
    check(page, axe)
    expect(page.get_by_role("row", name="NOME")).to_contain_text("2")
    page.get_by_role("button", name="Start export").click()
    page.wait_for_url("**/jobs/**")
    assert Job.objects.get().params["labels"]["mapping"] == mapping.pk
    # A label that is added later stops exports, and leads to the page.
    mapping.rows.filter(code="DATA").delete()
    page.goto(live("export", "covid") + f"?labels={mapping.pk}")
    page.get_by_role("button", name="Start export").click()
    page.wait_for_url("**/export/labels/*/")
    expect(page.get_by_text("lacks these labels: “DATE”")).to_be_visible()
    check(page, axe)
    page.locator("summary", has_text="Delete").click()
    page.locator(".confirm-panel").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/export/labels/")
    assert not LabelMapping.objects.exists()


def test_a_mapping_is_made_by_keys_alone(world: Any, page_of: Any, live: Any) -> None:
    page = page_of(world.mia)
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
    page.get_by_label("Written code of PATIENT").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("NAME")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved. Exports can use this mapping.")).to_be_visible()
    found = codes(LabelMapping.objects.get())
    assert found["PATIENT"] == "NAME" and found["DOCTOR"] == "" and found["CITY"] == "CITY"


def test_reviewers_read_a_mapping_and_export_with_it(world: Any, page_of: Any, live: Any, axe: Any) -> None:
    mapping = make_mapping(world.project)
    page = page_of(world.rev, viewport={"width": 390, "height": 900})
    page.goto(live("label_mappings", "covid"))
    check(page, axe)
    page.get_by_role("link", name="Partner").click()
    check(page, axe)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    page.get_by_role("link", name="Export with this mapping").click()
    page.get_by_role("button", name="Start export").click()
    page.wait_for_url("**/jobs/**")
    assert Job.objects.get().params["labels"]["mapping"] == mapping.pk


@pytest.mark.parametrize("width", [390, 1280])
def test_an_import_maps_labels_back(world: Any, page_of: Any, live: Any, axe: Any, tmp_path: Path, width: int) -> None:
    make_mapping(world.project)
    (tmp_path / "a.txt").write_text("Mario Rossi, oggi")
    (tmp_path / "a.ann").write_text("T1\tNAME 0 11\tMario Rossi\nT2\tWHEN 13 17\toggi\n")
    page = page_of(world.mia, viewport={"width": width, "height": 900})
    page.goto(live("import", "covid"))
    page.get_by_label("Gold standard").check()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([tmp_path / "a.txt", tmp_path / "a.ann"])
    page.get_by_role("button", name="Preview import").first.click()
    page.wait_for_url("**/import/*/")
    check(page, axe)
    page.get_by_label("NAME").select_option("skip")
    page.get_by_role("button", name="Preselect").click()
    expect(page.get_by_text("Each label has a choice.")).to_be_visible()
    check(page, axe)
    row = Import.objects.select_related("project").get()
    date = make.label_of(world.project, "DATE")
    assert {one.name: one.value for one in unknown_of(row).rows} == {"NAME": "skip", "WHEN": f"map:{date.pk}"}
