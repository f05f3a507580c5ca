"""Moving between notes on the annotate page: without loading it, and back to the former position."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from annotations.models import Event
from tests import factories as make
from tests.browser.annotate.steps import click_text, open_note, painted, press, quotes, reload, saved

# A word of its own in each line; some lines are wrapped.
LONG = "".join(f"riga{number} Mario Rossi torna a casa. {'bla ' * (60 * (number % 5 == 0))}\n" for number in range(400))

TOP = """() => {
    const { top } = document.getElementById("scroll").getBoundingClientRect();
    const lines = [...document.querySelectorAll("#note .line")];
    const line = lines.find((each) => each.getBoundingClientRect().bottom > top);
    return [line.id, Math.round(top - line.getBoundingClientRect().top)];
}"""


# Lines near the window get their true height in the frames after they were scrolled to.
RESTED = f"""async () => {{
    const look = {TOP};
    let [seen, same] = ["", 0];
    while (same < 10) {{
        await new Promise(requestAnimationFrame);
        const now = JSON.stringify(look());
        same = now === seen ? same + 1 : 0;
        seen = now;
    }}
    return JSON.parse(seen);
}}"""


def top(page: Page) -> list[Any]:
    """The line at the top of the window, and how many of its pixels are above, once the text rests."""
    return list(page.evaluate(RESTED))


def selected(page: Page) -> str:
    return str(page.evaluate("document.getSelection().toString()"))


def is_at(page: Page, there: list[Any]) -> None:
    """Wait until the text rests: lines near the window get their true height first."""
    try:
        page.wait_for_function(
            f"there => {{ const [id, y] = ({TOP})(); return id === there[0] && Math.abs(y - there[1]) <= 1; }}",
            arg=there,
        )
    except TimeoutError:
        assert top(page) == there, "the position is not restored"
        raise


@pytest.fixture
def long(transactional_db, page_of, live):
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    notes = [
        make.make_note(project, text, name, annotators=[ann]) for text, name in ((LONG, "lang"), ("Torino.", "kurz"))
    ]
    page = open_note(page_of(ann), live, notes[0])
    return SimpleNamespace(page=page, notes=notes)


ENDED = """() => {
    const scrolled = (done) => document.getElementById("scroll").addEventListener("scrollend", done, { once: true });
    window.ended = new Promise(scrolled).then(() => true);
}"""


def scroll(page: Page, by: int) -> None:
    """Scroll with the wheel over the text, and wait until it rests."""
    page.evaluate(ENDED)
    page.mouse.move(600, 400)
    page.mouse.wheel(0, by)
    assert page.evaluate("() => window.ended")


def away_and_back(page: Page) -> None:
    page.locator("#next-note").click()
    expect(page.locator("#note-name")).to_have_text("kurz")
    page.locator("#previous-note").click()
    expect(page.locator("#note-name")).to_have_text("lang")


def test_where_keys_go_on(long):
    page = long.page
    scroll(page, 7013)
    line = int(top(page)[0][1:]) + 5
    click_text(page, f"riga{line} ")
    press(page, *["ArrowRight"] * 2)  # over the number
    for leave, key in ((away_and_back, "1"), (reload, "2")):
        press(page, "Escape", "ArrowRight")
        word = selected(page)
        assert word in ("Rossi", "a")
        # A selected word is selected again.
        there = top(page)
        leave(page)
        is_at(page, there)
        assert selected(page) == word
        # Let go of: keys go on from there.
        press(page, "Escape")
        leave(page)
        assert selected(page) == ""
        press(page, "ArrowRight")
        following = selected(page)
        saved(page, key)
        expect(page.locator("#note .span.is-selected")).to_be_in_viewport()
        # So is a span.
        there = top(page)
        leave(page)
        is_at(page, there)
        expect(page.locator("#note .span.is-selected")).to_have_text(following)


def test_the_hit_of_a_search_by_its_own_link(long, page_of, live):
    """Far down in the note too, and in a new tab."""
    long.page.goto(live("search", "covid"))
    long.page.get_by_label("Search for").fill("riga377 mario")
    long.page.get_by_role("button", name="Search").last.click()
    link = long.page.locator(".hits a")
    expect(link).to_have_count(1)
    address = link.evaluate("link => link.href")
    assert "riga" not in address and address.endswith("#L378")
    page = page_of(beside=long.page)
    page.goto(address)
    page.wait_for_selector("html[data-workbench=ready]")
    assert selected(page) == "riga377 Mario"
    is_at(page, top(page))
    expect(page.locator("#L378")).to_be_in_viewport(ratio=1)
    saved(page, "1")
    expect(page.locator("#note .span")).to_have_text("riga377 Mario")
    expect(page.locator("#note .span")).to_be_in_viewport()


# ── The annotate page opens notes without loading a page: fetching ahead, leaving changes to be sent, and going back ──


@pytest.fixture
def ready(world, page_of, live):
    """The first note, with the next one fetched; `stayed` tells whether the page was never loaded again."""
    page = page_of(world.ann)
    with page.expect_response("**/data?ahead=1"):
        open_note(page, live, world.notes[0])
    page.evaluate("window.stayed = true")
    return page


def is_open(page: Page, note: Any) -> None:
    expect(page.locator("#note-name")).to_have_text(note.name)
    expect(page.locator("#note")).to_be_focused()


def test_in_place_there_and_back(ready, world, live):
    first, second, third = world.notes
    saved(ready, "ArrowRight", "ArrowRight", "1")
    press(ready, "n")
    is_open(ready, second)
    assert ready.url == live("annotate", "covid", second.pk)
    assert ready.title().startswith(second.name)
    expect(ready.locator("#note")).to_have_attribute("aria-label", f"Text of {second.name}")
    expect(ready.locator("#notes [aria-current]")).to_have_text(second.name)
    expect(ready.locator("#crumb-note")).to_have_text(second.name)
    expect(ready.locator("#own-keys")).to_have_attribute("href", re.compile(rf"/keys/\?note={second.pk}$"))
    expect(ready.locator("#said")).to_contain_text(second.name)
    saved(ready, "ArrowRight", "c")
    assert quotes(world.ann, second) == [("CITY", "Paziente")]
    ready.locator("#notes").get_by_role("link", name=third.name).click()
    is_open(ready, third)
    expect(ready.locator("#next-note")).to_be_hidden()
    ready.go_back()
    is_open(ready, second)
    assert painted(ready) == [("CITY", "Paziente")]
    ready.go_back()
    is_open(ready, first)
    expect(ready.locator("#note .is-selected")).to_have_text("Mario")
    saved(ready, "2")
    assert quotes(world.ann, first) == [("DOCTOR", "Mario")]
    with ready.expect_response("**/spans?*opened=1"):
        ready.go_forward()
    is_open(ready, second)
    assert ready.evaluate("window.stayed")
    assert Event.objects.filter(verb="note.read", document_id=second.pk).count() == 3
    reload(ready)
    expect(ready.locator("#note .is-selected")).to_have_text("Paziente")
    stored = ready.evaluate("JSON.stringify([Object.values(sessionStorage), Object.values(localStorage)])")
    assert "Paziente" not in stored


def test_what_waits_goes_on_being_saved_in_the_note_that_was_left(ready, world):
    first, second, _ = world.notes
    ready.context.set_offline(True)
    press(ready, "ArrowRight", "1", "ArrowRight", "2")
    press(ready, "n")
    is_open(ready, second)
    expect(ready.locator("#save-state")).to_have_text("Offline, 2 waiting")
    press(ready, "ArrowRight", "c")
    expect(ready.locator("#save-state")).to_have_text("Offline, 3 waiting")
    press(ready, "p")
    is_open(ready, first)
    assert painted(ready) == [("PATIENT", "Paziente"), ("DOCTOR", "Mario")]
    press(ready, "Control+z")
    press(ready, "n")
    is_open(ready, second)
    ready.context.set_offline(False)
    saved(ready)
    assert quotes(world.ann, first) == [("PATIENT", "Paziente")]
    assert quotes(world.ann, second) == [("CITY", "Paziente")]
    assert Event.objects.filter(verb__startswith="span.").count() == 4


def test_what_was_fetched_ahead_and_changed_since_is_brought_up_to_date(ready, world, page_of, live):
    saved(open_note(page_of(beside=ready), live, world.notes[1]), "ArrowRight", "1")
    ready.bring_to_front()
    press(ready, "n")
    is_open(ready, world.notes[1])
    expect(ready.locator("#notice")).to_contain_text("1 span added")
    assert painted(ready) == [("PATIENT", "Paziente")]


def test_a_note_that_cannot_be_had_is_loaded_as_a_page(ready, world):
    third = world.notes[2]
    ready.route("**/data**", lambda route: route.fulfill(status=500))
    ready.locator("#notes").get_by_role("link", name=third.name).click()
    ready.wait_for_url(f"**/notes/{third.pk}/annotate/")
    ready.wait_for_selector("html[data-workbench=ready]")
    is_open(ready, third)
    assert not ready.evaluate("window.stayed")
    # A person without access to the next note gets the server's 404 or 403, although the note was fetched before.
    ready.unroute("**/data**")
    with ready.expect_response("**/data?ahead=1"):
        ready.reload()
    world.ann.assignments.exclude(document=third).delete()
    press(ready, "p")
    expect(ready.get_by_role("heading", name="This page was not found")).to_be_visible()
