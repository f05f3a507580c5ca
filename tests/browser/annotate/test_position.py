"""Leaving a note and returning restores scroll position, selection and cursor."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests import factories as make
from tests.browser.annotate.steps import click_text, open_note, press, reload, saved

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
