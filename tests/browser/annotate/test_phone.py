"""The annotate page on a phone: read, label, change and submit by finger."""

import time

from playwright.sync_api import CDPSession, Page, expect

from tests.browser.annotate.steps import TEXT, click_text, place, press


def finger(session: CDPSession, kind: str, **at: float) -> None:
    points = [{"x": at["x"], "y": at["y"]}] if at else []
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def long_press(page: Page, part: str) -> None:
    """A long press selects a word: do what the browser does then, without its wait."""
    at = place(page, part)
    page.touchscreen.tap(at["x"] + 3, at["y"])
    page.evaluate("document.getSelection().modify('extend', 'forward', 'word')")


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def tap_twice(session: CDPSession, x: float, y: float) -> None:
    """Tap twice within a tenth of a second, however slow this machine is."""
    now = time.time()
    for kind, after in (("touchStart", 0.0), ("touchEnd", 0.02), ("touchStart", 0.08), ("touchEnd", 0.1)):
        points = [{"x": x, "y": y}] if kind == "touchStart" else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": now + after})


def drag_over(session: CDPSession, start: dict[str, float], end: dict[str, float]) -> None:
    finger(session, "touchStart", **start)
    for part in (0.25, 0.5, 0.75, 1):
        finger(session, "touchMove", **{side: start[side] + part * (end[side] - start[side]) for side in ("x", "y")})
    finger(session, "touchEnd")


def test_a_finger_selects_as_a_mouse_does(walk_over, axe):
    """A tap takes a word, a double tap the expression, a drag along the line what it covers; one across it scrolls."""
    walk = walk_over("Paziente: Mario Rossi, nato il 12/03/2021 a Torino.\n" + "Torna.\n" * 60, TEXT, **PHONE)
    page = walk.page
    session = page.context.new_cdp_session(page)
    palette, quoted = page.locator("#palette"), page.locator("#palette .wb-palette-head .wb-item-text")
    at = place(page, "Rossi")
    page.touchscreen.tap(at["x"] + 3, at["y"])
    expect(quoted).to_have_text("Rossi")
    # The handles of the word: the first one, moved over the word before.
    knob = page.locator(".wb-end.is-start").bounding_box()
    assert knob is not None
    held = {"x": knob["x"] + knob["width"] / 2, "y": knob["y"] + knob["height"] - 12}
    moved = {"x": held["x"] + place(page, "Mario")["x"] - at["x"], "y": held["y"]}
    drag_over(session, held, moved)
    expect(quoted).to_have_text("Mario Rossi")
    palette.get_by_role("button", name="PATIENT").tap()
    assert walk.made == [("PATIENT", "Mario Rossi")]
    at = place(page, "12/03")
    tap_twice(session, at["x"] + 3, at["y"])
    expect(quoted).to_have_text("12/03/2021")
    assert axe(page) == []
    palette.get_by_role("button", name="DATE").tap()
    expect(palette).to_be_hidden()
    start, end = place(page, "nato"), place(page, "il 12")
    drag_over(session, {"x": start["x"] + 3, "y": start["y"]}, {"x": end["x"] + 3, "y": end["y"]})
    expect(quoted).to_have_text("nato il")
    page.locator("#note-name").tap()
    expect(palette).to_be_hidden()
    # A word low on the screen is not left under the labels.
    low = page.evaluate("document.getElementById('scroll').getBoundingClientRect().bottom") - 20
    left = place(page, "Torna")["x"] + 3
    page.touchscreen.tap(left, low)
    expect(quoted).to_have_text("Torna")
    box = palette.bounding_box()
    assert box is not None
    assert page.evaluate("document.getSelection().getRangeAt(0).getBoundingClientRect().bottom") < box["y"]
    page.locator("#note-name").tap()
    before = page.evaluate("document.getElementById('scroll').scrollTop")
    drag_over(session, {"x": left, "y": 400}, {"x": left, "y": 200})
    page.wait_for_function("before => document.getElementById('scroll').scrollTop > before + 50", arg=before)
    expect(palette).to_be_hidden()
    assert walk.made == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021")]


def test_notes_by_finger(walk_over, axe):
    walk = walk_over(*[TEXT] * 3, **PHONE)
    page = walk.page
    session = page.context.new_cdp_session(page)
    # What fingers do, in place of the keys.
    page.get_by_role("button", name="Gestures").tap()
    sheet = page.get_by_role("dialog", name="Gestures")
    expect(sheet.locator("section:visible dt")).to_have_count(5)
    assert axe(page) == []
    sheet.get_by_role("button", name="Close").tap()
    # Label: the palette is a sheet at the bottom, as wide as the screen.
    long_press(page, "Torino")
    palette = page.locator("#palette")
    expect(palette).to_be_visible()
    box = palette.bounding_box()
    assert box is not None
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 844)
    palette.get_by_role("button", name="Wider").tap()
    palette.get_by_role("button", name="Narrower").tap()
    palette.get_by_role("button", name="CITY").tap()
    expect(palette).to_be_hidden()
    [(label, quote)] = walk.made
    assert label == "CITY"
    assert "Torino".startswith(quote) or quote == "Torino"
    # Let go, select it again by a tap, relabel it.
    empty = place(page, "Torna")
    page.touchscreen.tap(empty["x"] + 200, empty["y"])
    at = place(page, "Torino")
    page.touchscreen.tap(at["x"] + 3, at["y"])
    expect(page.locator("#selected .chip")).to_have_text("CITY")
    page.get_by_role("button", name="Relabel").tap()
    palette.get_by_role("button", name="HOSPITAL").tap()
    expect(page.locator("#selected .chip")).to_have_text("HOSPITAL")
    # Drag its start back over a word, by the knob below it.
    knob = page.locator(".wb-end.is-start").bounding_box()
    assert knob is not None
    held = {"x": knob["x"] + knob["width"] / 2, "y": knob["y"] + knob["height"] - 12}
    at, to = place(page, "Torino"), place(page, "12/03")
    moved = {"x": held["x"] + to["x"] - at["x"], "y": held["y"] + to["y"] - at["y"]}
    page.evaluate("addEventListener('touchmove', (event) => (window.mayFling = !event.defaultPrevented))")
    finger(session, "touchStart", **held)
    finger(session, "touchMove", x=(held["x"] + moved["x"]) / 2, y=(held["y"] + moved["y"]) / 2)
    finger(session, "touchMove", **moved)
    expect(page.locator(".wb-ends-boxes i").first).to_be_visible()
    finger(session, "touchEnd")
    assert page.evaluate("mayFling") is False  # otherwise the browser may swallow the next tap
    assert walk.made == [("HOSPITAL", "12/03/2021 a Torino")]
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Delete").tap()
    expect(page.locator("#note .span")).to_have_count(0)
    # What is worth a look, one after the other, without aiming at it.
    page.get_by_role("button", name="Next candidate").tap()
    palette.get_by_role("button", name="DOCTOR").tap()
    expect(page.locator("#note .span")).to_have_text("Bianchi")
    page.get_by_role("button", name="Submit").tap()
    walk.handed_in()
    # With auto-next the palette goes along.
    walk.go_on()
    page.get_by_role("button", name="Move on").tap()
    page.get_by_role("button", name="Next candidate").tap()
    for label, following in (("PATIENT", "54 anni"), ("AGE", "12/03/2021"), ("DATE", "Torino")):
        palette.get_by_role("button", name=label).tap()
        expect(palette.locator(".wb-palette-head .wb-item-text")).to_have_text(following)
    press(page, "Escape")
    expect(palette).to_be_hidden()
    assert [label for label, _ in walk.made] == ["PATIENT", "AGE", "DATE"]
    click_text(page, "Bianchi")
    expect(palette).to_be_hidden()
