"""Dragging over text: the page shows what will be selected before the button is released."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Document
from tests.browser.annotate.steps import click_text, drag, label_button, open_note, place, quotes, saved
from tests.factories import make_note

LINES = 300


def press_on(page: Page, part: str, edge: str = "start") -> None:
    page.mouse.move(**place(page, part, edge))
    page.mouse.down()


def selected(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def test_whole_tokens_are_shown_while_the_button_is_down(opened: Page, world: SimpleNamespace) -> None:
    press_on(opened, "ario Ros")
    opened.mouse.move(**place(opened, "ario Ros", "end"))
    assert selected(opened) == "Mario Rossi"
    opened.mouse.move(**place(opened, "Torino", "end"))
    assert selected(opened) == "Mario Rossi, 54 anni, ricoverato il 12/03/2021 a Torino"
    # Back, to before where it began.
    opened.mouse.move(**place(opened, "aziente"))
    assert selected(opened) == "Paziente Mario"
    opened.mouse.up()
    opened.keyboard.press("1")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Paziente Mario")]


def test_alt_changes_to_characters_and_back_in_the_middle(opened: Page, world: SimpleNamespace) -> None:
    press_on(opened, "ario Ros")
    opened.mouse.move(**place(opened, "ario Ros", "end"))
    opened.keyboard.down("Alt")
    assert selected(opened) == "ario Ros"
    opened.keyboard.up("Alt")
    assert selected(opened) == "Mario Rossi"
    opened.keyboard.down("Alt")
    opened.mouse.up()
    opened.keyboard.up("Alt")
    opened.keyboard.press("1")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "ario Ros")]


def test_beside_the_text_the_nearest_character_counts(opened: Page, world: SimpleNamespace) -> None:
    line = opened.locator("#note .line-text").first.bounding_box()
    assert line is not None
    press_on(opened, "Torino")
    opened.mouse.move(line["x"] + line["width"] + 30, line["y"] + line["height"] / 2)
    assert selected(opened) == "Torino."
    # The gutter and the list of notes lie left of it.
    opened.mouse.move(2, line["y"] + line["height"] / 2)
    assert selected(opened).startswith("Paziente Mario Rossi")
    opened.mouse.up()
    opened.keyboard.press("1")
    saved(opened)
    [(_, quote)] = quotes(world.ann, world.note)
    assert quote.startswith("Paziente")


def test_text_that_is_selected_already_can_be_swept_over(opened: Page, world: SimpleNamespace) -> None:
    """A browser would drag the selected text away instead."""
    drag(opened, "Mario Rossi")
    expect(opened.locator("#palette")).to_be_visible()
    drag(opened, "Rossi")
    assert selected(opened) == "Rossi"
    opened.keyboard.press("1")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Rossi")]


def test_a_press_takes_the_focus_to_the_note(opened: Page) -> None:
    opened.locator("#side button").first.focus()
    click_text(opened, "Torino")
    expect(opened.locator("#note")).to_be_focused()
    opened.keyboard.press("ArrowRight")
    assert selected(opened) in ("Torino", ".")


def test_shift_and_a_click_reach_from_where_the_selection_began(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Mario")
    opened.mouse.move(**place(opened, "Rossi", "end"))
    opened.keyboard.down("Shift")
    opened.mouse.down()
    opened.mouse.up()
    opened.keyboard.up("Shift")
    opened.keyboard.press("1")
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]


@pytest.fixture
def long(world: SimpleNamespace) -> Document:
    text = "".join(f"Riga {n} del diario.\n" for n in range(LINES))
    return make_note(world.project, text, "diario", annotators=[world.ann])


@pytest.mark.parametrize("way", ["edge", "wheel"])
def test_beyond_the_window_the_text_moves_along(
    world: SimpleNamespace, page_of: Any, live: Any, long: Document, way: str
) -> None:
    page = open_note(page_of(world.ann), live, long)
    label_button(page, "DATE").click()
    press_on(page, "Riga 3 ")
    frame = page.locator("#scroll").bounding_box()
    assert frame is not None
    top = "() => document.getElementById('scroll').scrollTop"
    if way == "edge":
        # The mouse rests there: it is the text that moves.
        page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] + 20)
        page.wait_for_function(f"{top} > 1500")
        page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] / 2)
        at = page.evaluate(top)
        page.wait_for_timeout(100)  # some frames
        assert page.evaluate(top) == at
    else:
        page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] / 2)
        before = len(selected(page))
        page.mouse.wheel(0, 1500)
        page.wait_for_function(f"{top} >= 1500")
        page.wait_for_function("length => document.getSelection().toString().length > length + 500", arg=before)
    shown = selected(page)
    page.mouse.up()
    saved(page)
    [(_, quote)] = quotes(world.ann, long)
    assert quote == shown
    assert quote.startswith("Riga 3 del diario.")
    assert len(quote) > 1000
