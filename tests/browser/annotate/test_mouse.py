"""The annotate page by mouse: clicks, sweeps over text, dragged ends, and text that scrolls under a held button."""

from playwright.sync_api import Page, Route, expect

from annotations.models import Event
from tests.browser.annotate import steps

# Whether a value is the same for some frames.
STAYS = """async (value) => {
    const seen = new Set();
    for (let frame = 0; frame < 6; frame += 1) {
        seen.add(value());
        await new Promise(requestAnimationFrame);
    }
    return seen.size === 1;
}"""


def selected(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def dblclick(page: Page, part: str, nth: int = 0) -> None:
    at = steps.place(page, part, nth=nth)
    page.mouse.dblclick(at["x"] + 3, at["y"])


def is_selected(page: Page, text: str) -> None:
    """Wait for the browser's selection: the page handles a click after it."""
    page.wait_for_function("text => document.getSelection().toString() === text", arg=text)


def test_what_a_mouse_does(walk_over):
    walk = walk_over(*[steps.TEXT] * 9)
    page = walk.page
    # A double click on a label makes one span.
    steps.drag(page, "Torino")
    steps.label_button(page, "CITY").dblclick()
    assert walk.made == [("CITY", "Torino")]
    assert Event.objects.filter(document_id=walk.note.pk, verb__startswith="span.").count() == 1
    assert page.locator("#side [aria-pressed=true]").count() == 0
    # A span over a line break is one span.
    walk.go_on()
    steps.drag(page, "Torino", "Visto")
    page.keyboard.press("h")
    assert walk.made == [("HOSPITAL", "Torino.\r\n\r\nVisto")]
    assert steps.painted(page) == [("HOSPITAL", "Torino.|Visto")]
    # Click selects then relabel and delete.
    walk.go_on()
    steps.drag(page, "Bianchi")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    steps.click_text(page, "Bianchi")
    expect(page.locator("#selected")).to_contain_text("Bianchi")
    steps.label_button(page, "DOCTOR").click()
    expect(page.locator("#note .span.is-selected")).to_have_attribute("data-label", "DOCTOR")
    assert walk.made == [("DOCTOR", "Bianchi")]
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#note .span")).to_have_count(0)
    assert walk.made == []
    # A click where spans lie on each other lists them.
    walk.go_on()
    for part, key in (("Mario Rossi", "1"), ("Rossi", "2")):
        steps.drag(page, part)
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    steps.click_text(page, "Rossi")
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
    steps.label_button(page, "CITY").click()
    expect(page.locator("#selected .chip")).to_have_text("CITY")
    page.keyboard.press("Escape")
    # With a label armed the span is made at once.
    steps.label_button(page, "DATE").click()
    dblclick(page, "20/03")
    expect(page.locator("#note .span")).to_have_count(3)
    expect(page.locator("#palette")).to_be_hidden()
    assert walk.made == [("CITY", "Mario Rossi"), ("DATE", "12/03/2021"), ("DATE", "20/03/2021")]
    # A click on an end is for the text below.
    walk.go_on()
    steps.drag(page, "Mario")
    page.keyboard.press("1")
    at = steps.handle(page, "end")
    page.mouse.dblclick(at["x"], at["y"])
    is_selected(page, "Mario Rossi")


def test_the_ends_of_a_span_are_dragged(walk_over):
    walk = walk_over(steps.TEXT, steps.TEXT)
    page = walk.page
    # The ends of a span are dragged.
    steps.drag(page, "Mario")
    page.keyboard.press("1")
    steps.pull(page, "end", steps.place(page, "Rossi", "end"))
    expect(page.locator(".wb-ends-boxes i").first).to_be_visible()
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Mario Rossi")
    steps.pull(page, "start", steps.place(page, "Paziente"))
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    # Escape lets it be.
    steps.pull(page, "end", steps.place(page, "Torino", "end"))
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator("#note .span")).to_have_text("Paziente Mario Rossi")
    expect(page.locator("#note .is-selected")).to_have_count(1)
    # The ends stay where they are when the span is saved.
    walk.go_on()
    held: list[Route] = []
    page.route("**/changes", lambda route: held.append(route))
    steps.drag(page, "Mario")
    page.keyboard.press("1")
    page.keyboard.press("Shift+ArrowRight")
    steps.handle(page, "end")
    page.evaluate(
        """() => {
            const layer = document.querySelector(".wb-ends");
            window.hidings = 0;
            new MutationObserver(() => { window.hidings += layer.hidden; }).observe(layer, { attributes: true });
        }"""
    )
    expect(page.locator("#save-state")).not_to_have_text("Saved")
    for answer in range(2):
        steps.wait_for_held(page, held, answer + 1)
        held[answer].continue_()
    steps.saved(page)
    assert page.evaluate(f"({STAYS})(() => window.hidings)")  # for the frames in which they would be put back
    assert page.evaluate("window.hidings") == 0
    assert walk.made == [("PATIENT", "Mario Rossi")]
