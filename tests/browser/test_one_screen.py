"""Forms and figures fit about one screen of 1440 by 900 pixels in Chromium, with 28 labels."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import factories as make

# Pages with few rows, in pixels of height.
ONE_SCREEN = 960
LABELS = [(f"Kind {n}", [(f"LABEL_{n}_{m}", "") for m in range(4)]) for n in range(7)]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("ward", labels=LABELS)
    people = [make.make_member(project, user=name) for name in ("anna", "bruno", "carla")]
    for number in range(3):
        note = make.make_note(project, "Mario Rossi, Torino", f"note-{number}", annotators=people)
        for place, person in enumerate(people):
            label = f"LABEL_0_{place if number else 0}"
            make.make_set(note, person, [(0, 11, label), (13, 19, "LABEL_1_1")], submitted=True)
    return SimpleNamespace(project=project, manager=make.make_member(project, "manager", "mia"))


def height(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight"))


def test_pages_fit_one_screen(page_of: Any, live: Any, world: SimpleNamespace) -> None:
    page = page_of(world.manager)
    page.set_viewport_size({"width": 1440, "height": 900})
    names = ["agreement", "gold", "keys", "project_settings", "people", "archive_export", "run_combine"]
    addresses = [live(name, "ward") for name in names]
    found = {}
    for address in [*addresses, live("project_new"), live("release_policies", "ward")]:
        page.goto(address)
        found[address] = height(page)
    assert {address: pixels for address, pixels in found.items() if pixels > ONE_SCREEN} == {}
    # 28 labels with their actions, in two tables beside each other.
    page.goto(live("release_policy", "ward", "mask"))
    left, right = (table.bounding_box() for table in page.locator(".policy-columns table").all())
    assert left["y"] == right["y"] and height(page) < 1200
    page.locator(".policy-copy > summary").click()
    assert page.locator(".act-bar").bounding_box()["height"] < 60, "the bar covers no row but its own"


def test_closed_folds_share_a_row_and_an_open_one_has_its_own(page_of: Any, live: Any, world: SimpleNamespace) -> None:
    page = page_of(world.manager)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live("agreement", "ward"))
    folds = page.locator(".folds > details")
    assert folds.nth(0).bounding_box()["y"] == folds.nth(1).bounding_box()["y"]
    # A column of a closed fold is named as one of an open fold.
    buttons = page.locator("details:not([open]) button.sort[aria-label]")
    names = buttons.evaluate_all("all => all.map((each) => each.ariaLabel)")
    assert names and all(name.removeprefix("↕").strip() for name in names)
    folds.nth(0).locator("summary").press("Enter")
    expect(folds.nth(0)).to_have_attribute("open", "")
    assert folds.nth(0).bounding_box()["y"] < folds.nth(1).bounding_box()["y"]


def test_an_error_of_a_key_stands_below_its_label(page_of: Any, live: Any, world: SimpleNamespace) -> None:
    page = page_of(world.manager)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(live("keys", "ward"))
    page.get_by_label("Key of LABEL_0_1").fill("v")
    page.get_by_role("button", name="Save keys").click()
    row = page.get_by_role("row").filter(has=page.locator(".errorlist"))
    chip, key, error = (row.locator(part).bounding_box() for part in (".chip", ".key", ".errorlist"))
    assert chip["x"] + chip["width"] <= key["x"]
    assert error["y"] >= max(chip["y"] + chip["height"], key["y"] + key["height"])
