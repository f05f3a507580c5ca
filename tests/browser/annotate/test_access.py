"""The annotate page for everybody: axe-core at three widths, light and dark."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.annotate.steps import open_note, press


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_for_axe_to_find(
    world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(world.ann, viewport={"width": width, "height": 844}, color_scheme=scheme)
    open_note(page, live, world.note)
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1")
    press(page, "ArrowRight", "Shift+ArrowRight", "d", "ArrowRight")
    press(page, "Enter")
    assert axe(page) == []
    press(page, "Escape", "Escape", "?")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # Nothing moves for those who don't want it, and what moves for others does so briefly (milliseconds).
    moving = """() => Math.max(...[...document.querySelectorAll("*")].map((each) =>
        Math.max(...getComputedStyle(each).transitionDuration.split(",").map((time) => parseFloat(time) * 1000))))"""
    assert page.evaluate(moving) <= 120
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moving) == 0


def test_without_scripts_the_note_can_be_read_and_handed_in(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.ann, java_script_enabled=False)
    page.goto(live("annotate", "covid", world.note.pk))
    expect(page.locator("#note")).to_contain_text("Mario Rossi, 54 anni")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#note-name")).to_have_text(world.notes[1].name)
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("Submitted", exact=True)).to_be_visible()
