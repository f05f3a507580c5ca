"""The managers' pages in Chromium: axe-core, small screens, and their script."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotations.models import Category, Document, Membership, Project
from tests import factories as make

PAGES = ["import", "labels", "people", "guidelines", "guidelines_edit", "project_settings", "patients"]
OF_ARCHIVED = ["projects", "project", "project_settings", "project_delete", "notes"]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid", guidelines="# Names\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx\n```")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, annotators=[ann], patient_id="P1")
    make.make_set(note, ann, [(0, 11, "PATIENT")])
    return SimpleNamespace(project=project, note=note, ann=ann, mia=make.make_member(project, "manager", "mia"))


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_every_page_is_accessible_and_fits(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    label = make.label_of(world.project, "PATIENT")
    target = make.label_of(world.project, "DOCTOR")
    member = Membership.objects.get(user=world.ann)
    urls = [live(name, "covid") for name in PAGES]
    urls += [live("label_edit", "covid", label.pk), live("member_remove", "covid", member.pk)]
    urls += [live("label_merge", "covid", label.pk) + f"?into={target.pk}"]
    urls += [live("category_add", "covid"), live("category_edit", "covid", label.category_id)]
    urls += [live("category_delete", "covid", label.category_id)]
    urls += [live("note_delete", "covid", Document.objects.get().pk)]
    # A member whose password this manager may not reset.
    make.make_member(world.project, user=make.make_member(make.make_project("other")))
    found = []
    for url in urls:
        page.goto(url)
        found += [f"{url}: {line}" for line in axe(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{url}: wider than the screen")
    assert found == []


@pytest.mark.parametrize("width", [1440, 390])
def test_attributes_of_a_label(world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int) -> None:
    page: Page = page_of(world.mia, viewport={"width": width, "height": 900})
    label = make.label_of(world.project, "PATIENT")
    page.goto(live("label_edit", "covid", label.pk))
    page.get_by_label("Attributes").fill("Family\nStatus: current | current")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("has the same value twice")).to_be_visible()
    assert axe(page) == []
    page.get_by_label("Attributes").fill("Family\nStatus: current | past")
    page.get_by_role("button", name="Save").click()
    row = page.get_by_role("row").filter(has_text="PATIENT")
    expect(row.locator(".label-attributes")).to_contain_text("Status: current | past")
    assert axe(page) == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    label.refresh_from_db()
    assert label.attributes == [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_erasing_a_patient_by_keys(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, settings: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    page: Page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(live("patients", "covid"))
    page.get_by_label("Patient ID", exact=True).fill("P1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Texts to check manually")).to_be_visible()
    assert axe(page) == []
    page.get_by_label("Repeat the patient ID").fill("P1")
    page.get_by_role("button", name="Erase 1 note").press("Enter")
    expect(page.get_by_text("1 note was erased.")).to_be_visible()
    expect(page.get_by_text("night.zip")).to_be_visible()
    assert axe(page) == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_the_preview_is_shown_on_the_same_page(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia)
    page.goto(live("guidelines_edit", "covid"))
    page.get_by_label("Guidelines").fill("# Dates")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview").get_by_role("heading", name="Dates")).to_be_visible()
    expect(page.get_by_label("Guidelines")).to_have_value("# Dates")
    assert Project.objects.get().guidelines.startswith("# Names")


def test_leaving_an_unsaved_text_asks_first(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(live("guidelines_edit", "covid"))
    page.get_by_label("Guidelines").press_sequentially("x")
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/guidelines/")
    assert asked == ["beforeunload"]
    page.goto(live("guidelines_edit", "covid"))
    page.get_by_label("Guidelines").press_sequentially("y")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/guidelines/")
    assert asked == ["beforeunload"]


def test_the_link_can_be_copied(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia, permissions=["clipboard-read", "clipboard-write"])
    page.goto(live("people", "covid"))
    page.get_by_role("button", name="Password link for ann").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#link").inner_text().strip()


def test_a_double_click_adds_one_label(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia)
    page.goto(live("labels", "covid"))
    page.get_by_label("Name").fill("CANTON")
    page.get_by_role("button", name="Add label").dblclick()
    expect(page.locator(".errorlist")).to_have_count(0)
    expect(page.get_by_role("link", name="Edit CANTON")).to_be_visible()
    assert page.url.endswith(reverse("labels", args=["covid"])) or "#" in page.url


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_a_category_is_added_by_keys_and_given_to_a_label(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page: Page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(live("labels", "covid"))
    page.locator(".page-head").get_by_role("link", name="Add category").press("Enter")
    page.get_by_label("Name", exact=True).fill("Devices")
    page.keyboard.press("Tab")
    color = page.get_by_role("radio", name="Violet")
    while not color.is_checked():
        page.keyboard.press("ArrowRight")
    assert axe(page) == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labels/?category=*")
    expect(page.get_by_label("Category")).to_have_value(str(Category.objects.get(name="Devices").pk))
    page.get_by_role("button", name="Up Devices").press("Enter")
    expect(page.get_by_role("link", name="Edit PATIENT")).to_be_visible()
    page.get_by_role("link", name="Edit PATIENT").press("Enter")
    page.get_by_label("Category").select_option("Devices")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("tbody.hue-9", has_text="Devices").locator(".chip")).to_have_text("PATIENT")
    assert axe(page) == []
    # The note shows the color at its next load.
    page = page_of(world.ann)
    page.goto(live("annotate", "covid", world.note.pk))
    expect(page.locator(".span.hue-9")).to_have_text("Mario Rossi")


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_archiving_restoring_and_deleting_by_keys(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page: Page = page_of(world.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(live("project_settings", "covid"))
    for button, told in (
        ("Archive project", "The project is archived."),
        ("Restore project", "The project is restored."),
    ):
        page.get_by_role("button", name=button).press("Enter")
        expect(page.get_by_text(told)).to_be_visible()
    page.get_by_role("button", name="Archive project").press("Enter")
    expect(page.get_by_text("This project is archived and read-only.")).to_be_visible()
    found = []
    for name in OF_ARCHIVED:
        page.goto(live(name) if name == "projects" else live(name, "covid"))
        found += [f"{name}: {line}" for line in axe(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{name}: wider than the screen")
    assert found == []
    page.goto(live("project_settings", "covid"))
    page.get_by_role("link", name="Delete project").press("Enter")
    page.get_by_label("Name of the project").fill("covid")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is not the name of the project.")).to_be_visible()
    assert axe(page) == []
    page.get_by_label("Name of the project").fill(world.project.name)
    page.keyboard.press("Enter")
    expect(page.get_by_text("A project with 1 note was deleted.")).to_be_visible()
    assert not Project.objects.filter(slug="covid").exists()
