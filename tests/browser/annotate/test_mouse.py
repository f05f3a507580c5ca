"""The annotate page by mouse: clicks, sweeps over text, dragged ends, and text that scrolls under a held button."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from annotations.models import Event
from tests.browser.annotate.steps import (
    TEXT,
    click_text,
    drag,
    handle,
    label_button,
    painted,
    place,
    pull,
    saved,
    wait_for_held,
)

# Whether a value is the same for some frames.
STAYS = """async (value) => {
    const seen = new Set();
    for (let frame = 0; frame < 6; frame += 1) {
        seen.add(value());
        await new Promise(requestAnimationFrame);
    }
    return seen.size === 1;
}"""


def press_on(page: Page, part: str, edge: str = "start") -> None:
    page.mouse.move(**place(page, part, edge))
    page.mouse.down()


def selected(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def dblclick(page: Page, part: str, nth: int = 0) -> None:
    at = place(page, part, nth=nth)
    page.mouse.dblclick(at["x"] + 3, at["y"])


def is_selected(page: Page, text: str) -> None:
    """Wait for the browser's selection: the page handles a click after it."""
    page.wait_for_function("text => document.getSelection().toString() === text", arg=text)


def test_what_a_mouse_does(walk_over: Any) -> None:
    walk = walk_over(*[TEXT] * 9)
    page = walk.page
    # A double click on a label makes one span.
    drag(page, "Torino")
    label_button(page, "CITY").dblclick()
    assert walk.made == [("CITY", "Torino")]
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span.").count() == 1
    assert page.locator("#side [aria-pressed=true]").count() == 0
    # An armed label labels at once.
    walk.go_on()
    label_button(page, "DATE").click()
    expect(label_button(page, "DATE")).to_have_attribute("aria-pressed", "true")
    drag(page, "12/03/2021")
    drag(page, "20/03/2021")
    expect(page.locator("#note .span")).to_have_count(2)
    expect(page.locator("#palette")).to_be_hidden()
    assert walk.made == [("DATE", "12/03/2021"), ("DATE", "20/03/2021")]
    page.keyboard.press("Escape")
    expect(label_button(page, "DATE")).to_have_attribute("aria-pressed", "false")
    # A span over a line break is one span.
    walk.go_on()
    drag(page, "Torino", "Visto")
    page.keyboard.press("h")
    assert walk.made == [("HOSPITAL", "Torino.\r\n\r\nVisto")]
    assert painted(page) == [("HOSPITAL", "Torino.|Visto")]
    # Click selects then relabel and delete.
    walk.go_on()
    drag(page, "Bianchi")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    click_text(page, "Bianchi")
    expect(page.locator("#selected")).to_contain_text("Bianchi")
    label_button(page, "DOCTOR").click()
    expect(page.locator("#note .span.is-selected")).to_have_attribute("data-label", "DOCTOR")
    assert walk.made == [("DOCTOR", "Bianchi")]
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#note .span")).to_have_count(0)
    assert walk.made == []
    # A click where spans lie on each other lists them.
    walk.go_on()
    for part, key in (("Mario Rossi", "1"), ("Rossi", "2")):
        drag(page, part)
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    click_text(page, "Rossi")
    picker = page.get_by_role("dialog", name="Spans here")
    items = picker.get_by_role("button")
    expect(items).to_have_text(["1DOCTORRossi", "2PATIENTMario Rossi"])
    expect(items.first).to_be_focused()
    expect(page.locator("#selected .chip")).to_have_text("DOCTOR")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#selected .chip")).to_have_text("PATIENT")
    expect(picker).to_be_visible()
    page.keyboard.press("1")
    expect(picker).to_be_hidden()
    expect(page.locator("#selected .chip")).to_have_text("DOCTOR")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.press("Shift+Enter")
    items.nth(1).click()
    expect(page.locator("#selected .chip")).to_have_text("PATIENT")
    page.keyboard.press("Delete")
    assert walk.made == [("DOCTOR", "Rossi")]
    # A double click takes the whole expression.
    walk.go_on()
    dblclick(page, "03/2021")
    is_selected(page, "12/03/2021")
    page.keyboard.press("d")
    # The same again takes what is around it.
    dblclick(page, "Rossi")
    is_selected(page, "Mario Rossi")
    dblclick(page, "Rossi")
    is_selected(page, "Paziente Mario Rossi")
    page.keyboard.press("-")
    is_selected(page, "Mario Rossi")
    expect(page.locator("#palette")).to_be_visible()
    page.locator("#palette").get_by_role("button", name="PATIENT").click()
    # On a span: its labels are offered, and it is the span that changes.
    dblclick(page, "Rossi")
    expect(page.locator("#palette .is-current")).to_contain_text("PATIENT")
    page.keyboard.press("2")
    label_button(page, "CITY").click()
    expect(page.locator("#selected .chip")).to_have_text("CITY")
    page.keyboard.press("Escape")
    # With a label armed the span is made at once.
    label_button(page, "DATE").click()
    dblclick(page, "20/03")
    expect(page.locator("#note .span")).to_have_count(3)
    expect(page.locator("#palette")).to_be_hidden()
    assert walk.made == [("CITY", "Mario Rossi"), ("DATE", "12/03/2021"), ("DATE", "20/03/2021")]
    # A click on an end is for the text below.
    walk.go_on()
    drag(page, "Mario")
    page.keyboard.press("1")
    at = handle(page, "end")
    page.mouse.dblclick(at["x"], at["y"])
    is_selected(page, "Mario Rossi")


@pytest.mark.nightly
def test_what_is_selected_is_shown_while_the_button_is_down(walk_over: Any) -> None:
    walk = walk_over(*[TEXT] * 9)
    page = walk.page
    # Whole tokens are shown while the button is down.
    press_on(page, "ario Ros")
    page.mouse.move(**place(page, "ario Ros", "end"))
    assert selected(page) == "Mario Rossi"
    page.mouse.move(**place(page, "Torino", "end"))
    assert selected(page) == "Mario Rossi, 54 anni, ricoverato il 12/03/2021 a Torino"
    # Back, to before where it began.
    page.mouse.move(**place(page, "aziente"))
    assert selected(page) == "Paziente Mario"
    page.mouse.up()
    page.keyboard.press("1")
    assert walk.made == [("PATIENT", "Paziente Mario")]
    # Alt changes to characters and back in the middle.
    walk.go_on()
    press_on(page, "ario Ros")
    page.mouse.move(**place(page, "ario Ros", "end"))
    page.keyboard.down("Alt")
    assert selected(page) == "ario Ros"
    page.keyboard.up("Alt")
    assert selected(page) == "Mario Rossi"
    page.keyboard.down("Alt")
    page.mouse.up()
    page.keyboard.up("Alt")
    page.keyboard.press("1")
    assert walk.made == [("PATIENT", "ario Ros")]
    # Beside the text the nearest character counts.
    walk.go_on()
    line = page.locator("#note .line-text").first.bounding_box()
    assert line is not None
    press_on(page, "Torino")
    page.mouse.move(line["x"] + line["width"] + 30, line["y"] + line["height"] / 2)
    assert selected(page) == "Torino."
    # The gutter and the list of notes lie left of it.
    page.mouse.move(2, line["y"] + line["height"] / 2)
    assert selected(page).startswith("Paziente Mario Rossi")
    page.mouse.up()
    page.keyboard.press("1")
    [(_, quote)] = walk.made
    assert quote.startswith("Paziente")
    # A browser would drag the selected text away instead.
    walk.go_on()
    drag(page, "Mario Rossi")
    expect(page.locator("#palette")).to_be_visible()
    drag(page, "Rossi")
    assert selected(page) == "Rossi"
    page.keyboard.press("1")
    assert walk.made == [("PATIENT", "Rossi")]
    # A press takes the focus to the note.
    walk.go_on()
    page.locator("#side button").first.focus()
    click_text(page, "Torino")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.press("ArrowRight")
    assert selected(page) in ("Torino", ".")
    # Shift and a click reach from where the selection began.
    walk.go_on()
    drag(page, "Mario")
    page.mouse.move(**place(page, "Rossi", "end"))
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.up()
    page.keyboard.up("Shift")
    page.keyboard.press("1")
    assert walk.made == [("PATIENT", "Mario Rossi")]


def test_the_ends_of_a_span_are_dragged(walk_over: Any) -> None:
    walk = walk_over(TEXT, TEXT)
    page = walk.page
    # The ends of a span are dragged.
    drag(page, "Mario")
    page.keyboard.press("1")
    pull(page, "end", place(page, "Rossi", "end"))
    expect(page.locator(".wb-ends-boxes i").first).to_be_visible()
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Mario Rossi")
    pull(page, "start", place(page, "Paziente"))
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    # Escape lets it be.
    pull(page, "end", place(page, "Torino", "end"))
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    expect(page.locator("#note .is-selected")).to_have_count(1)
    # Over the line's end, and back; Alt takes characters.
    pull(page, "end", place(page, "Visto", "end"))
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_count(2)
    pull(page, "end", place(page, "Rossi", "end"))
    page.mouse.up()
    page.keyboard.down("Alt")
    pull(page, "start", place(page, "ziente"))
    page.mouse.up()
    page.keyboard.up("Alt")
    [(label, quote)] = walk.made
    assert label == "PATIENT"
    assert quote.endswith("ziente Mario Rossi")
    assert quote != "Paziente Mario Rossi"
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span.").count() == 6
    # The ends stay where they are when the span is saved.
    walk.go_on()
    held: list[Route] = []
    page.route("**/changes", lambda route: held.append(route))
    drag(page, "Mario")
    page.keyboard.press("1")
    page.keyboard.press("Shift+ArrowRight")
    handle(page, "end")
    page.evaluate(
        """() => {
            const layer = document.querySelector(".wb-ends");
            window.hidings = 0;
            new MutationObserver(() => { window.hidings += layer.hidden; }).observe(layer, { attributes: true });
        }"""
    )
    expect(page.locator("#save-state")).not_to_have_text("Saved")
    for answer in range(2):
        wait_for_held(page, held, answer + 1)
        held[answer].continue_()
    saved(page)
    assert page.evaluate(f"({STAYS})(() => window.hidings)")  # for the frames in which they would be put back
    assert page.evaluate("window.hidings") == 0
    assert walk.made == [("PATIENT", "Mario Rossi")]


@pytest.mark.nightly
def test_text_scrolls_under_a_held_button(walk_over: Any) -> None:
    """By the edge of the window, and by the wheel; while an end is held, down and up until the end of the text."""
    line = "Riga {} del diario.\n"
    walk = walk_over(*["".join(line.format(number) for number in range(60))] * 3)
    page = walk.page
    frame = page.locator("#scroll").bounding_box()
    assert frame is not None
    top = "() => document.getElementById('scroll').scrollTop"

    def is_what_was_shown() -> None:
        shown = selected(page)
        page.mouse.up()
        [(_, quote)] = walk.made
        assert quote == shown
        assert quote.startswith("Riga 3 del diario.")
        assert len(quote) > 400

    label_button(page, "DATE").click()
    press_on(page, "Riga 3 ")
    # The mouse rests there: it is the text that moves, and away from the edge it stays.
    page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] + 20)
    page.wait_for_function(f"{top} > 500")
    page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] / 2)
    assert page.evaluate(f"({STAYS})({top})")
    is_what_was_shown()
    walk.go_on()
    label_button(page, "DATE").click()
    press_on(page, "Riga 3 ")
    page.mouse.move(frame["x"] + 200, frame["y"] + frame["height"] / 2)
    before = len(selected(page))
    page.mouse.wheel(0, 500)
    page.wait_for_function(f"{top} >= 500")
    page.wait_for_function("length => document.getSelection().toString().length > length + 200", arg=before)
    is_what_was_shown()
    # An end that is held at the edge goes on to the end of the text.
    walk.go_on()
    drag(page, "Riga 5 ")
    page.keyboard.press("1")
    pull(page, "end", {"x": frame["x"] + 300, "y": frame["y"] + frame["height"] - 5})
    at_end = "() => { const { scrollTop, scrollHeight, clientHeight } = document.getElementById('scroll'); return "
    page.wait_for_function(at_end + "scrollTop > 500 && scrollTop + clientHeight >= scrollHeight - 2; }")
    page.mouse.up()
    [(_, quote)] = walk.made
    assert quote.startswith("Riga 5 ") and "Riga 55 " in quote
    # Back up, with the hand beyond the window's edge: an end never crosses the other.
    pull(page, "end", {"x": frame["x"] + 300, "y": frame["y"] - 20})
    page.wait_for_function(at_end + "scrollTop === 0; }")
    page.mouse.up()
    assert [text for _, text in walk.made] == ["Riga"]
