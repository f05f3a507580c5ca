"""The review page with hostile text, for axe-core, on small screens."""

import re
from types import SimpleNamespace

from playwright.sync_api import Page, expect

from annotations.models import Role
from tests import factories as make
from tests.browser.annotate.steps import drag, label_button, place, press, saved
from tests.browser.review.steps import act, chosen, gold, open_review, suggest
from tests.browser.widths import chrome_faults

# Press keys before the browser does anything else.
AT_ONCE = """keys => keys.forEach(key =>
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))"""
HOSTILE = (
    "Sig. <img src=x onerror=alert(1)>\u2028\U0001f9ec\U0001f468\u200d\U0001f469 e\u0301 "
    "\u0645\u062d\u0645\u062f &amp; </script>\r\n\tRossi"
)


def test_hostile_text_and_names(transactional_db, page_of, live):
    labels = [("<b>x</b>", [("<img src=x onerror=alert(1)>", "1"), ("'\"&", "2"), ("\u05e9\u05dd", "")])]
    project = make.make_project("hostile", labels)
    rita = make.make_member(project, Role.REVIEWER, "rita")
    run = make.make_author(project, kind="run", name="<i>run</i>")
    note = make.make_note(project, HOSTILE, "<u>name</u>")
    suggest(
        note,
        run,
        [("\U0001f468\u200d\U0001f469", "'\"&"), ("\u0645\u062d\u0645\u062f", "\u05e9\u05dd"), ("Rossi", "'\"&")],
    )
    page = open_review(page_of(rita), live, SimpleNamespace(project=project, run=run, note=note))
    saved(page, "a", "1", "a")
    drag(page, "<img src=x")
    saved(page, "2")
    assert gold(note) == [
        ("'\"&", "<img src=x"), ("'\"&", "\U0001f468\u200d\U0001f469"),
        ("<img src=x onerror=alert(1)>", "\u0645\u062d\u0645\u062f"), ("'\"&", "Rossi"),
    ]  # fmt: skip
    assert page.locator("img").count() == 0
    assert page.locator("main b, main u, main i").count() == 0


def test_a_phone(world, page_of, live, axe):
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": "dark"}
    page = open_review(page_of(world.rita, **options), live, world)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("accept", "reject"):
        expect(act(page, name)).to_be_in_viewport(ratio=1)
        box = act(page, name).bounding_box()
        assert box is not None and min(box["width"], box["height"]) >= 44
    for name in ("Next suggestion", "Finish review", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    act(page, "accept").tap()
    at = place(page, "Torino")
    page.touchscreen.tap(at["x"] + 3, at["y"])
    expect(page.locator("#chosen")).to_contain_text("Torino")
    page.locator(".de-labels summary").tap()
    label_button(page, "CITY").tap()
    saved(page)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("CITY", "Torino")]
    page.locator(".de-labels summary").tap()
    # A finger's selection: the browser's own, then the sheet of labels.
    page.evaluate(
        """() => {
            const node = [...document.querySelectorAll("#note .line-text")][3].firstChild;
            const finger = new PointerEvent("pointerdown", { pointerType: "touch", bubbles: true });
            document.getElementById("note").dispatchEvent(finger);
            document.getSelection().setBaseAndExtent(node, 8, node, 12);
        }"""
    )
    page.locator("#palette").get_by_role("button", name="HOSPITAL").tap()
    saved(page)
    assert gold(world.note)[-1] == ("HOSPITAL", "casa")
    assert axe(page) == []


def test_small_windows_and_no_text_in_any_url(opened: Page) -> None:
    controls = "[data-act=accept]", "[data-act=reject]", "#after-suggestion", "#finish", "#undo"
    assert chrome_faults(opened, *controls) == []
    seen = []
    opened.on("request", lambda request: seen.append(request.url))
    press(opened, "a", "x", "c", "u")
    drag(opened, "54 anni")
    saved(opened, "d")
    assert len(seen) >= 3  # an undo is sent alone
    assert not [url for url in seen if any(word in url for word in ("Rossi", "Torino", "anni")) and "static" not in url]


def test_a_long_list_has_elements_only_for_the_rows_near_the_window(world, page_of, live):
    """Every row is reached by scrolling and by keys, decisions of all go to the server in few requests."""
    words = [f"Nome{number:03}" for number in range(400)]
    note = make.make_note(world.project, " ".join(words), "lungo", language="it")
    suggest(note, world.run, [(word, "PATIENT") for word in words])
    page = open_review(page_of(world.rita), live, world, note)
    rows = page.locator("#suggestions li")
    assert rows.count() < 100
    expect(rows.first).to_have_attribute("aria-setsize", "400")
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    page.evaluate(AT_ONCE, ["a"] * 120)
    expect(chosen(page)).to_contain_text("Nome120")
    expect(chosen(page)).to_be_in_viewport()
    saved(page)
    assert len(gold(note)) == 120
    assert len(sent) == 1
    to_the_end = "list => list.closest('details').scrollTop = 1e6"
    page.locator("#suggestions").evaluate(to_the_end)
    expect(rows.last).to_contain_text("Nome399")
    page.locator("#suggestions button", has_text="Nome399").click()
    expect(page.locator("#note .is-selected")).to_have_text("Nome399")
    page.evaluate(f"keys => {{ ({AT_ONCE})(keys); ({to_the_end})(document.querySelector('#suggestions')); }}", ["x"])
    saved(page)
    expect(chosen(page)).to_have_count(0)  # the answer leaves the list where it was scrolled
    expect(rows.last).to_contain_text("rejected")
    expect(page.locator("#chosen")).to_contain_text("Nome120")
    # The list knows the heights of the rows that are no elements: 121 folded ones, one of them chosen.
    heights = page.locator("#suggestions").evaluate(
        "list => [list.offsetHeight, ...['--open', '--folded', 'padding-bottom'].map((name) =>"
        " parseFloat(getComputedStyle(list).getPropertyValue(name)))]"
    )
    whole, high, folded, _ = heights
    assert abs(whole - 280 * high - 120 * folded) <= high


def test_decided_cards_fold(world, page_of, live):
    words = [f"Nome{number:03}" for number in range(200)]
    note = make.make_note(world.project, " ".join(words), "lungo", language="it")
    suggest(note, world.run, [(word, "PATIENT") for word in words])
    for one, first, second in ((world.note, "Mario Rossi", "12/03/2021"), (note, "Nome000", "Nome001")):
        page = open_review(page_of(world.rita), live, world, one)
        card, after = (page.locator("#suggestions button", has_text=word) for word in (first, second))
        high = card.bounding_box()["height"]
        assert after.bounding_box()["height"] == high
        press(page, "a")
        expect(card).not_to_have_class(re.compile("is-card"))
        assert card.bounding_box()["height"] < 0.7 * high
        expect(card).to_contain_text("accepted")
        card.focus()  # reopens without choosing it
        press(page, "Tab", "Shift+Tab")
        expect(card).to_be_focused()
        assert card.bounding_box()["height"] == high
        expect(chosen(page)).to_contain_text(second)
        press(page, "Tab")
        assert card.bounding_box()["height"] < 0.7 * high
        press(page, "u")
        expect(card).to_contain_text("open")
        assert card.bounding_box()["height"] == high
        saved(page)
    # Cards above the window that are decided in another tab leave the list where it is.
    page.locator("#suggestions").evaluate("list => list.closest('details').scrollTop = 5000")
    seen = page.locator("#suggestions button", has_text="Nome110")
    head = page.locator("summary", has_text="Suggestions")
    before = seen.bounding_box()["y"] - head.bounding_box()["y"]
    other = open_review(page.context.new_page(), live, world, note)
    press(other, *["x"] * 5)
    saved(other)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#left")).to_contain_text("195")
    assert abs(seen.bounding_box()["y"] - head.bounding_box()["y"] - before) <= 1
