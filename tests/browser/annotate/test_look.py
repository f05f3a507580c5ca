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


def test_columns_at_every_width(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    """Notes, text and labels are side by side where there is room, else stacked; the list of notes folds."""
    page = page_of(world.ann)
    items, guide, summary = (page.locator(where) for where in ("#notes-items", "#guide", "#notes-list summary"))
    name = page.locator("#note-name")
    for width in (1440, 1380, 1024, 390):
        page.set_viewport_size({"width": width, "height": 844})
        open_note(page, live, world.note)
        notes, text, side = (box(page, selector) for selector in ("#notes", ".wb-middle", "#side"))
        if width == 1440:
            assert notes["x"] + notes["width"] <= text["x"]
            summary.click()
            expect(items).to_be_hidden()
            assert box(page, "#notes")["width"] < 60
            assert box(page, ".wb-middle")["width"] > text["width"] + 100
        elif width != 1380:
            assert notes["y"] + notes["height"] <= text["y"]
            expect(items).to_be_hidden()
        if width > 390:
            assert text["x"] + text["width"] <= side["x"]
            assert text["width"] > side["width"]
        else:
            assert text["y"] + text["height"] <= side["y"]
        # The links to the next and previous note stay visible without the list of notes.
        page.evaluate("window.stayed = true")
        page.locator("#next-note").click()
        expect(name).to_have_text(world.notes[1].name)
        page.locator("#previous-note").click()
        expect(name).to_have_text(world.note.name)
        assert page.evaluate("window.stayed")
        if width == 390:  # there the guidelines cover the page
            continue
        # Where there is no room for list and guidelines, opening the list closes the guidelines.
        for is_folded in (False, True):
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
            if width == 1440:
                page.locator("#guide-close").click()
                page.locator("#note").focus()
    # The foot of a note that was handed in is one row on a phone.
    make.make_set(world.notes[1], world.ann, submitted=True)
    open_note(page, live, world.notes[1])
    assert box(page, ".wb-foot")["height"] < 60
    for where in ("#previous-note", "#next-note", "#reopen", "#next-open"):
        expect(page.locator(where)).to_be_in_viewport(ratio=1)


def test_the_text(walk_over: Any) -> None:
    """White space as it is; each line with its number; at most 90 characters wide, and wrapped, whatever they are."""
    long = "Mario Rossi torna.\n" * 300
    text = "\tcol  umn   Rossi\r\n\r\n" + "parola " * 60 + "\r\n" + "x" * 900
    walk = walk_over(text, long)
    page = walk.page
    page.set_viewport_size({"width": 2200, "height": 900})
    assert style(page, "#note", "fontSize") == "17px"
    assert float(style(page, "#note", "lineHeight").removesuffix("px")) == pytest.approx(17 * 1.65, abs=0.1)
    assert "tabular-nums" in style(page, "#note", "fontVariantNumeric")
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
    # What is selected is on the screen.
    page.set_viewport_size({"width": 1440, "height": 900})
    last = long.rindex("Rossi")
    make.make_set(walk.go_on(), walk.ann, [(0, 5, "PATIENT"), (last, last + 5, "PATIENT")], version=1)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#note .span")).to_have_count(2)
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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_what_opens_lies_beside_what_it_is_about(opened: Page) -> None:
    """And never over it; a click elsewhere closes it."""
    for part in ("Torino", "casa"):
        drag(opened, part)
        at, found = place(opened, part), box(opened, "#palette")
        assert found["x"] <= at["x"] <= found["x"] + found["width"]
        assert 0 < found["y"] - at["y"] < 60
    opened.locator("#note-name").click()
    expect(opened.locator("#palette")).to_be_hidden()
    # An armed label is seen and let go.
    press(opened, "Escape", "Escape")
    label_button(opened, "DATE").click()
    expect(opened.locator("#selected")).to_contain_text("Every selection is labeled DATE")
    expect(opened.locator("#said")).to_contain_text("Every selection is labeled DATE")
    expect(opened.locator("#armed")).to_have_text("DATEEsc stops")
    at = place(opened, "Torino")
    opened.mouse.move(at["x"], at["y"])
    found = box(opened, "#armed")
    assert 0 < found["x"] - at["x"] < 40 and 0 < found["y"] - at["y"] < 40
    label_button(opened, "DATE").click()
    expect(opened.locator("#armed")).to_be_hidden()
    expect(opened.locator("#selected")).to_contain_text("Nothing selected")
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "false")
    # At the bottom of the window what opens lies above.
    opened.set_viewport_size({"width": 1440, "height": 350})
    drag(opened, "casa")
    at, found = place(opened, "casa"), box(opened, "#palette")
    assert found["y"] + found["height"] <= at["y"]
