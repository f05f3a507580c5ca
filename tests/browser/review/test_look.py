"""The review page with hostile text, for axe-core, on small screens."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Role
from tests import factories as make
from tests.browser.annotate.steps import drag, label_button, place, press, saved
from tests.browser.review.steps import TEXT, act, gold, open_review, opened, suggest, world

__all__ = ["opened", "world"]


HOSTILE = (
    "Sig. <img src=x onerror=alert(1)>\u2028\U0001f9ec\U0001f468\u200d\U0001f469 e\u0301 "
    "\u0645\u062d\u0645\u062f &amp; </script>\r\n\tRossi"
)


def test_hostile_text_and_names(transactional_db: None, page_of: Any, live: Any) -> None:
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
    press(page, "a", "1", "a")
    saved(page)
    drag(page, "<img src=x")
    press(page, "2")
    saved(page)
    assert gold(note) == [
        ("'\"&", "<img src=x"),
        ("'\"&", "\U0001f468\u200d\U0001f469"),
        ("<img src=x onerror=alert(1)>", "\u0645\u062d\u0645\u062f"),
        ("'\"&", "Rossi"),
    ]
    assert page.locator("img").count() == 0
    assert page.locator("main b, main u, main i").count() == 0


def test_a_phone(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": "dark"}
    page = open_review(page_of(world.rita, **options), live, world)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("accept", "reject"):
        expect(act(page, name)).to_be_in_viewport(ratio=1)
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


@pytest.mark.nightly
def test_neighboring_notes_and_a_finished_note_at_every_width(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    """The neighbors are at hand with the list folded, and the button that reopens is on the screen."""
    page = page_of(world.rita)
    page.goto(live("runs", world.project.slug))
    page.get_by_role("main").get_by_role("link", name=re.compile("^Review .")).click()
    page.wait_for_selector("html[data-review=ready]")
    name = page.locator("#note-name")
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 844})
        open_review(page, live, world)
        if width == 1440:
            page.locator("#notes-list summary").click()
        expect(page.locator("#notes-items")).to_be_hidden()
        page.locator("#next-note").click(trial=width != 390)
    expect(name).to_have_text(world.notes[1].name)
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator("#previous-note").click(trial=width != 390)
    expect(name).to_have_text(world.notes[0].name)
    page.wait_for_selector("html[data-review=ready]")
    press(page, "a", "a", "a", "a", "Enter")
    page.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    open_review(page, live, world)
    for width in (390, 820):
        page.set_viewport_size({"width": width, "height": 844})
        for part in (page.get_by_role("button", name="Reopen"), page.locator("#reopen-form .primary")):
            expect(part).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_text_in_any_url(opened: Page, world: SimpleNamespace) -> None:
    seen = []
    opened.on("request", lambda request: seen.append(request.url))
    press(opened, "a", "x", "c", "u")
    drag(opened, "54 anni")
    press(opened, "d")
    saved(opened)
    assert len(seen) >= 5
    assert not [url for url in seen if any(word in url for word in ("Rossi", "Torino", "anni")) and "static" not in url]


@pytest.mark.nightly
def test_a_low_window_scrolls_as_a_page(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    """720 by 450 pixels are a window of 1440 by 900 at 200% zoom."""
    note = make.make_note(world.project, "Vuoto.\r\n" * 60 + TEXT, "long", language="it")
    suggest(note, world.run)
    for width in (720, 1200):
        page = open_review(page_of(world.rita, viewport={"width": width, "height": 450}), live, world, note)
        scrolling = page.evaluate(
            """() => [...document.querySelectorAll("#workbench, #workbench *")]
                .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowY))
                .filter((each) => each.scrollHeight > each.clientHeight + 1)
                .map((each) => each.id || each.className)"""
        )
        assert scrolling == []
        # The selected suggestion far below is on the screen, and stays there after a decision.
        expect(page.locator("#note .is-selected")).to_be_in_viewport()
        press(page, "j", "x")
        saved(page)
        expect(page.locator("#note .is-selected")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        act(page, "accept").click()
        saved(page)


@pytest.mark.nightly
def test_long_codes_follow_the_text_and_long_names_keep_their_end(
    transactional_db: None, page_of: Any, live: Any
) -> None:
    code = "ID_TITULACION_PERSONAL_SANITARIO"
    project = make.make_project("long", [("ID", [(code, "q"), ("CALLE", "c")])])
    rita = make.make_member(project, Role.REVIEWER, "rita")
    run = make.make_author(project, kind="run", name="run")
    name = "hospital-general-de-la-ciudad-informe-0042"
    note = make.make_note(project, TEXT, name, annotators=[rita])
    suggest(note, run, [("12/03/2021", code), ("Torino", "CALLE")])
    page = open_review(page_of(rita), live, SimpleNamespace(project=project, run=run, note=note))
    row = page.locator("#suggestions .de-row").first
    quote, chip = row.locator(".de-quote"), row.locator(".chip")
    for first, second in ((quote, chip), (page.locator("#chosen bdi").first, page.locator("#chosen .chip").first)):
        expect(second).to_have_attribute("title", code)
        before, after = first.bounding_box(), second.bounding_box()
        assert before and after and (before["y"], before["x"]) < (after["y"], after["x"])
    cut = "each => each.scrollWidth > each.clientWidth"
    assert chip.evaluate(cut) and not quote.evaluate(cut)
    assert chip.evaluate("each => each.getClientRects().length === 1 && each.clientHeight < 24")
    # In both lists of notes the end of the name is visible, and the name is whole for those who hear it.
    for where in ("review", "annotate"):
        if where == "annotate":
            page.goto(live("annotate", "long", note.pk))
            page.wait_for_selector("html[data-workbench=ready]")
        link = page.locator("#notes-items a")
        expect(link).to_have_accessible_name(name)
        expect(link.locator(".name")).to_have_attribute("title", name)
        assert link.locator(".name-start").evaluate(cut)
        assert not link.locator(".name-end").evaluate(cut)
        expect(link.locator(".name-end")).to_have_text("rme-0042")
