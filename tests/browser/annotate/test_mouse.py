"""The annotate page by mouse and by finger."""

from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Page, Route, expect

from annotations.models import Event
from tests import factories as make
from tests.browser.annotate.steps import (
    click_text,
    drag,
    handle,
    label_button,
    open_note,
    painted,
    place,
    pull,
    quotes,
    saved,
    wait_for_held,
)


def test_drag_snaps_to_words_and_the_palette_labels(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "ario Ros")
    opened.locator("#palette").get_by_role("button", name="PATIENT").click()
    expect(opened.locator("#note .span")).to_have_text("Mario Rossi")
    expect(opened.locator("#palette")).to_be_hidden()
    saved(opened)
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]


def test_alt_takes_characters(opened: Page, world: SimpleNamespace) -> None:
    opened.keyboard.down("Alt")
    drag(opened, "ario Ros")
    opened.keyboard.up("Alt")
    opened.keyboard.press("1")
    saved(opened)
    [(_, quote)] = quotes(world.ann, world.note)
    assert quote in "Mario Rossi"
    assert quote != "Mario Rossi"


def test_double_click_takes_the_word(opened: Page, world: SimpleNamespace) -> None:
    at = place(opened, "Torino")
    opened.mouse.dblclick(at["x"] + 5, at["y"])
    opened.keyboard.press("c")
    saved(opened)
    assert quotes(world.ann, world.note) == [("CITY", "Torino")]


def test_a_double_click_on_a_label_makes_one_span(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Torino")
    label_button(opened, "CITY").dblclick()
    saved(opened)
    assert quotes(world.ann, world.note) == [("CITY", "Torino")]
    assert Event.objects.filter(verb__startswith="span.").count() == 1
    assert opened.locator("#side [aria-pressed=true]").count() == 0


def test_an_armed_label_labels_at_once(opened: Page, world: SimpleNamespace) -> None:
    label_button(opened, "DATE").click()
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "true")
    drag(opened, "12/03/2021")
    drag(opened, "20/03/2021")
    expect(opened.locator("#note .span")).to_have_count(2)
    expect(opened.locator("#palette")).to_be_hidden()
    saved(opened)
    assert quotes(world.ann, world.note) == [("DATE", "12/03/2021"), ("DATE", "20/03/2021")]
    opened.keyboard.press("Escape")
    expect(label_button(opened, "DATE")).to_have_attribute("aria-pressed", "false")


def test_a_span_over_a_line_break_is_one_span(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Torino", "Visto")
    opened.keyboard.press("h")
    saved(opened)
    assert quotes(world.ann, world.note) == [("HOSPITAL", "Torino.\r\n\r\nVisto")]
    assert painted(opened) == [("HOSPITAL", "Torino.|Visto")]


def test_click_selects_then_relabel_and_delete(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Bianchi")
    opened.keyboard.press("1")
    opened.keyboard.press("Escape")
    click_text(opened, "Bianchi")
    expect(opened.locator("#selected")).to_contain_text("Bianchi")
    label_button(opened, "DOCTOR").click()
    expect(opened.locator("#note .span.is-selected")).to_have_attribute("data-label", "DOCTOR")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Bianchi")]
    opened.get_by_role("button", name="Delete").click()
    expect(opened.locator("#note .span")).to_have_count(0)
    saved(opened)
    assert quotes(world.ann, world.note) == []


def test_a_click_where_spans_lie_on_each_other_lists_them(opened: Page, world: SimpleNamespace, axe: Any) -> None:
    for part, key in (("Mario Rossi", "1"), ("Rossi", "2")):
        drag(opened, part)
        opened.keyboard.press(key)
    opened.keyboard.press("Escape")
    click_text(opened, "Rossi")
    picker = opened.get_by_role("dialog", name="Spans here")
    items = picker.get_by_role("button")
    expect(items).to_have_text(["1DOCTORRossi", "2PATIENTMario Rossi"])
    expect(items.first).to_be_focused()
    assert axe(opened) == []
    expect(opened.locator("#selected .chip")).to_have_text("DOCTOR")
    opened.keyboard.press("ArrowDown")
    expect(opened.locator("#selected .chip")).to_have_text("PATIENT")
    expect(picker).to_be_visible()
    opened.keyboard.press("1")
    expect(picker).to_be_hidden()
    expect(opened.locator("#selected .chip")).to_have_text("DOCTOR")
    expect(opened.locator("#note")).to_be_focused()
    opened.keyboard.press("Shift+Enter")
    items.nth(1).click()
    expect(opened.locator("#selected .chip")).to_have_text("PATIENT")
    opened.keyboard.press("Delete")
    saved(opened)
    assert quotes(world.ann, world.note) == [("DOCTOR", "Rossi")]


def test_labeling_by_finger(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = page_of(world.ann, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    open_note(page, live, world.note)
    at = place(page, "Torino")
    page.touchscreen.tap(at["x"] + 3, at["y"])
    page.evaluate("document.getSelection().modify('extend', 'forward', 'word')")
    expect(page.locator("#palette")).to_be_visible()
    page.locator("#palette").get_by_role("button", name="CITY").tap()
    expect(page.locator("#note .span")).to_have_count(1)
    saved(page)
    assert quotes(world.ann, world.note)[0][0] == "CITY"


def dblclick(page: Page, part: str, nth: int = 0) -> None:
    at = place(page, part, nth=nth)
    page.mouse.dblclick(at["x"] + 3, at["y"])


def is_selected(page: Page, text: str) -> None:
    """Wait for the browser's selection: the page handles a click after it."""
    page.wait_for_function("text => document.getSelection().toString() === text", arg=text)


def test_a_double_click_takes_the_whole_expression(opened: Page, world: SimpleNamespace) -> None:
    dblclick(opened, "03/2021")
    is_selected(opened, "12/03/2021")
    opened.keyboard.press("d")
    # The same again takes what is around it.
    dblclick(opened, "Rossi")
    is_selected(opened, "Mario Rossi")
    dblclick(opened, "Rossi")
    is_selected(opened, "Paziente Mario Rossi")
    opened.keyboard.press("-")
    is_selected(opened, "Mario Rossi")
    expect(opened.locator("#palette")).to_be_visible()
    opened.locator("#palette").get_by_role("button", name="PATIENT").click()
    # On a span: its labels are offered, and it is the span that changes.
    dblclick(opened, "Rossi")
    expect(opened.locator("#palette .is-current")).to_contain_text("PATIENT")
    opened.keyboard.press("2")
    label_button(opened, "CITY").click()
    expect(opened.locator("#selected .chip")).to_have_text("CITY")
    opened.keyboard.press("Escape")
    # With a label armed the span is made at once.
    label_button(opened, "DATE").click()
    dblclick(opened, "20/03")
    expect(opened.locator("#note .span")).to_have_count(3)
    expect(opened.locator("#palette")).to_be_hidden()
    saved(opened)
    assert quotes(world.ann, world.note) == [("CITY", "Mario Rossi"), ("DATE", "12/03/2021"), ("DATE", "20/03/2021")]


def test_the_ends_stay_where_they_are_when_the_span_is_saved(opened: Page, world: SimpleNamespace) -> None:
    held: list[Route] = []
    opened.route("**/changes", lambda route: held.append(route))
    drag(opened, "Mario")
    opened.keyboard.press("1")
    opened.keyboard.press("Shift+ArrowRight")
    handle(opened, "end")
    opened.evaluate(
        """() => {
            const layer = document.querySelector(".wb-ends");
            window.hidings = 0;
            new MutationObserver(() => { window.hidings += layer.hidden; }).observe(layer, { attributes: true });
        }"""
    )
    expect(opened.locator("#save-state")).not_to_have_text("Saved")
    for answer in range(2):
        wait_for_held(opened, held, answer + 1)
        held[answer].continue_()
    saved(opened)
    opened.wait_for_timeout(100)  # frames in which they would be put back
    assert opened.evaluate("window.hidings") == 0
    assert quotes(world.ann, world.note) == [("PATIENT", "Mario Rossi")]


def test_the_ends_of_a_span_are_dragged(opened: Page, world: SimpleNamespace) -> None:
    drag(opened, "Mario")
    opened.keyboard.press("1")
    pull(opened, "end", place(opened, "Rossi", "end"))
    expect(opened.locator(".wb-ends-boxes i").first).to_be_visible()
    opened.mouse.up()
    expect(opened.locator("#note .span")).to_have_text("Mario Rossi")
    pull(opened, "start", place(opened, "Paziente"))
    opened.mouse.up()
    expect(opened.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    # Escape lets it be.
    pull(opened, "end", place(opened, "Torino", "end"))
    opened.keyboard.press("Escape")
    opened.mouse.up()
    expect(opened.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    expect(opened.locator("#note .is-selected")).to_have_count(1)
    # Over the line's end, and back; Alt takes characters.
    pull(opened, "end", place(opened, "Visto", "end"))
    opened.mouse.up()
    expect(opened.locator("#note .span")).to_have_count(2)
    pull(opened, "end", place(opened, "Rossi", "end"))
    opened.mouse.up()
    opened.keyboard.down("Alt")
    pull(opened, "start", place(opened, "ziente"))
    opened.mouse.up()
    opened.keyboard.up("Alt")
    saved(opened)
    [(label, quote)] = quotes(world.ann, world.note)
    assert label == "PATIENT"
    assert quote.endswith("ziente Mario Rossi")
    assert quote != "Paziente Mario Rossi"
    assert Event.objects.filter(verb__startswith="span.").count() == 6


def test_the_text_moves_along_under_an_end_that_is_held_at_the_edge(
    world: SimpleNamespace, page_of: Any, live: Any
) -> None:
    """While the mouse rests, the text scrolls under it, down and up, until its end."""
    text = "".join(f"riga{number:03} torna a casa\n" for number in range(200))
    note = make.make_note(world.project, text, annotators=[world.ann])
    page = open_note(page_of(world.ann), live, note)
    drag(page, "riga005")
    page.keyboard.press("1")
    frame = page.locator("#scroll").bounding_box()
    assert frame is not None
    pull(page, "end", {"x": frame["x"] + 300, "y": frame["y"] + frame["height"] - 5})
    at_end = "() => { const { scrollTop, scrollHeight, clientHeight } = document.getElementById('scroll'); return "
    page.wait_for_function(at_end + "scrollTop > 500 && scrollTop + clientHeight >= scrollHeight - 2; }")
    page.mouse.up()
    saved(page)
    [(_, quote)] = quotes(world.ann, note)
    assert quote.startswith("riga005") and "riga190" in quote
    # Back up, with the hand beyond the window's edge.
    pull(page, "end", {"x": frame["x"] + 300, "y": frame["y"] - 20})
    page.wait_for_function(at_end + "scrollTop === 0; }")
    page.mouse.up()
    saved(page)
    [(_, quote)] = quotes(world.ann, note)
    assert quote == "riga"  # its first word: an end never crosses the other


def test_a_click_on_an_end_is_for_the_text_below(opened: Page) -> None:
    drag(opened, "Mario")
    opened.keyboard.press("1")
    at = handle(opened, "end")
    opened.mouse.dblclick(at["x"], at["y"])
    is_selected(opened, "Mario Rossi")
