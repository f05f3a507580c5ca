"""Measurable layout of the annotate page: columns, text, spans, and the position of popovers."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import User
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, label_button, open_note, place, press, saved


def style(page: Page, selector: str, name: str, pseudo: str | None = None) -> str:
    found = page.locator(selector).first.evaluate(
        "(node, [name, pseudo]) => getComputedStyle(node, pseudo)[name]", [name, pseudo]
    )
    return str(found)


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None
    return dict(found)


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_columns(world: SimpleNamespace, page_of: Any, live: Any, width: int) -> None:
    """Notes, text and labels are side by side where there is room, else stacked; the list of notes folds."""
    page = open_note(page_of(world.ann, viewport={"width": width, "height": 844}), live, world.note)
    notes, text, side = (box(page, selector) for selector in ("#notes", ".wb-middle", "#side"))
    if width == 1440:
        assert notes["x"] + notes["width"] <= text["x"]
        page.locator("#notes-list summary").click()
        expect(page.locator("#notes-items")).to_be_hidden()
        assert box(page, "#notes")["width"] < 60
        assert box(page, ".wb-middle")["width"] > text["width"] + 100
    else:
        assert notes["y"] + notes["height"] <= text["y"]
        expect(page.locator("#notes-items")).to_be_hidden()
    if width > 390:
        assert text["x"] + text["width"] <= side["x"]
        assert text["width"] > side["width"]
    else:
        assert text["y"] + text["height"] <= side["y"]


@pytest.mark.parametrize("width", [1440, 1380, 1024])
@pytest.mark.parametrize("is_folded", [False, True])
def test_the_list_of_notes_beside_the_guidelines(
    world: SimpleNamespace, page_of: Any, live: Any, width: int, is_folded: bool
) -> None:
    """Where there is no room for both, opening the list closes the guidelines."""
    page = open_note(page_of(world.ann, viewport={"width": width, "height": 844}), live, world.note)
    items, guide, summary = (page.locator(where) for where in ("#notes-items", "#guide", "#notes-list summary"))
    if items.is_visible() == is_folded:
        summary.click()
    press(page, "g")
    expect(guide).to_be_visible()
    if width == 1440 and not is_folded:
        expect(items).to_be_visible()
        summary.click()
        expect(items).to_be_hidden()
    else:
        expect(items).to_be_hidden()
        summary.click()
        expect(items).to_be_visible()
    expect(guide).to_be_visible(visible=width == 1440)


def test_the_text(transactional_db: None, page_of: Any, live: Any) -> None:
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    text = "\tcol  umn   Rossi\r\n\r\n" + "parola " * 60 + "\r\n" + "x" * 900
    page = open_note(
        page_of(ann, viewport={"width": 2200, "height": 900}), live, make.make_note(project, text, annotators=[ann])
    )
    assert style(page, "#note", "fontSize") == "17px"
    assert float(style(page, "#note", "lineHeight").removesuffix("px")) == pytest.approx(17 * 1.65, abs=0.1)
    assert "tabular-nums" in style(page, "#note", "fontVariantNumeric")
    # White space as it is; each line with its number; at most 90 characters wide, and wrapped, whatever they are.
    assert page.locator(".line-text").first.inner_text() == "\tcol  umn   Rossi"
    assert page.locator(".gutter").all_inner_texts() == ["1", "2", "3", "4"]
    character = page.locator("#note").evaluate("""note => {
        const probe = document.createElement("span");
        probe.style.cssText = "position: absolute; width: 90ch; font: inherit";
        note.append(probe);
        const { width } = probe.getBoundingClientRect();
        probe.remove();
        return width;
    }""")
    for line in range(4):
        found = (
            page.locator(".line-text")
            .nth(line)
            .evaluate("node => [node.clientWidth, node.scrollWidth, node.clientHeight]")
        )
        assert found[1] <= found[0] <= character + 1
        assert (found[2] > 40) == (line >= 2)


def test_spans(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    """Spans have a tint, an underline of 2 px and a name; underlines don't touch; the selected span has a ring."""
    page = open_note(page_of(world.ann), live, world.note)
    press(
        page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "1", "Escape", "ArrowRight", "ArrowLeft", "ArrowLeft", "2"
    )
    press(page, "Escape", "Control+End", "c")
    outer, inner = "#note .span >> nth=0", "#note .span .span"
    assert page.locator("#note .span .span").count() == 1
    for selector in (outer, inner):
        assert style(page, selector, "textDecorationLine") == "underline"
        assert style(page, selector, "backgroundColor") != "rgba(0, 0, 0, 0)"
    assert style(page, outer, "textDecorationThickness") == "2px"
    assert style(page, outer, "textUnderlineOffset") != style(page, inner, "textUnderlineOffset")
    assert "attr(data-label)" in style(page, inner, "content", "::after") or "DOCTOR" in style(
        page, inner, "content", "::after"
    )
    # Color is never alone: each category has a line of its own.
    lines = {style(page, f".wb-label:has(.underline-{n}) .swatch", "textDecorationStyle") for n in range(4)}
    assert lines == {"solid", "dashed", "double", "dotted"}
    press(page, "Shift+Tab")
    assert style(page, "#note .is-selected", "outlineStyle") == "solid"
    assert style(page, "#note .is-selected", "outlineWidth") == "2px"
    # Whoever wants chips for the span at hand alone has them so.
    saved(page)
    User.objects.filter(pk=world.ann.pk).update(reduced_chips=True)
    open_note(page, live, world.note)
    press(page, "Escape")
    assert style(page, outer, "content", "::after") == "none"
    click_text(page, "Paziente")
    page.locator(outer).hover()
    assert style(page, "#note .span:hover", "content", "::after") != "none"


def test_what_opens_lies_beside_what_it_is_about(opened: Page) -> None:
    """And never over it; a click elsewhere closes it."""
    for part in ("Torino", "casa"):
        drag(opened, part)
        at, found = place(opened, part), box(opened, "#palette")
        assert found["x"] <= at["x"] <= found["x"] + found["width"]
        assert 0 < found["y"] - at["y"] < 60
    opened.locator("#note-name").click()
    expect(opened.locator("#palette")).to_be_hidden()
    # At the bottom of the window it opens above.
    opened.set_viewport_size({"width": 1440, "height": 350})
    drag(opened, "casa")
    at, found = place(opened, "casa"), box(opened, "#palette")
    assert found["y"] + found["height"] <= at["y"]


def test_an_armed_label_is_seen_and_let_go(opened: Page) -> None:
    label_button(opened, "DATE").click()
    expect(opened.locator("#selected")).to_contain_text("Every selection is labeled DATE")
    expect(opened.locator("#said")).to_contain_text("Every selection is labeled DATE")
    label_button(opened, "DATE").click()
    expect(opened.locator("#selected")).to_contain_text("Nothing selected")
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "false")


def test_what_is_selected_is_on_the_screen(transactional_db: None, page_of: Any, live: Any) -> None:
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    note = make.make_note(project, "Mario Rossi torna.\n" * 300, annotators=[ann])
    last = note.text.rindex("Rossi")
    make.make_set(note, ann, [(0, 5, "PATIENT"), (last, last + 5, "PATIENT")])
    page = open_note(page_of(ann), live, note)
    press(page, "Tab", "Tab")
    expect(page.locator("#note .is-selected")).to_be_in_viewport()
    expect(page.locator("#said")).to_have_text("PATIENT: Rossi, 2 of 2")
    press(page, "Escape", "Control+Home")
    expect(page.locator("#L1")).to_be_in_viewport()
    press(page, *["ArrowDown"] * 40)
    expect(page.locator("#L41")).to_be_in_viewport()
    # Screen readers get the note's name and each span with its label.
    expect(page.locator("#said")).to_have_text("Mario")
    first = page.locator("#note .span").first
    expect(first).to_have_role("group")
    expect(first).to_have_accessible_name("PATIENT")
    expect(page.locator("#note")).to_have_accessible_name(re.compile("^Text of"))


def test_the_foot_of_a_note_that_was_handed_in_is_one_row_on_a_phone(
    world: SimpleNamespace, page_of: Any, live: Any
) -> None:
    make.make_set(world.notes[1], world.ann, submitted=True)
    page = open_note(page_of(world.ann, viewport={"width": 390, "height": 844}), live, world.notes[1])
    assert box(page, ".wb-foot")["height"] < 60
    for name in ("#previous-note", "#next-note", "#reopen", "#next-open"):
        expect(page.locator(name)).to_be_in_viewport(ratio=1)
