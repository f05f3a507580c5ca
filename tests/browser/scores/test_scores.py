"""From the scores of a run to the errors behind them, and what a threshold costs, in Chromium."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.gold.services.making import freeze
from tests import factories as make

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
ROSSI, AGE, CITY = (0, 11, "PATIENT"), (13, 20, "AGE"), (44, 50, "CITY")


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    """Ten gold notes of five patients, which are frozen; a run that misses the town."""
    project = make.make_project("covid", name="Covid ward")
    rev = make.make_member(project, "reviewer", "rev")
    gold, run = (
        make.make_author(project, kind=kind, name=name) for kind, name in (("gold", "gold"), ("run", "rules-1"))
    )
    for number in range(10):
        note = make.make_note(project, TEXT, f"caso-{number:02}", patient_id=f"p{number // 2}", language="it")
        make.make_set(note, gold, [ROSSI, AGE, CITY], submitted=True)
        make.make_set(note, run, [ROSSI, AGE], submitted=True)
    freeze(project=project, actor=rev)
    return SimpleNamespace(project=project, rev=rev, run=run)


def check(page: Page, axe: Any) -> None:
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_from_the_scores_to_the_errors_behind_them(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    page = page_of(world.rev)
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.goto(live("scores", "covid"))
    expect(page.locator("tr", has_text="rules-1")).to_contain_text("100%")
    page.get_by_role("link", name="Show figures rules-1").click()
    expect(page.get_by_text("In 10 of 10 notes (100%)")).to_be_visible()
    page.locator("summary", has_text="Published figures").click()
    page.locator("summary", has_text="Catelli 2021, table 4.17:").press("Enter")
    expect(page.locator("tr", has_text="BERT base (IT) Cased · IT [1]")).to_be_visible()
    expect(page.get_by_text("the two figures are swapped here")).to_be_visible()
    page.locator("summary", has_text="Singh et al. 2025, table 2:").click()
    page.locator("summary", has_text="Scores of the rewritten text").press("Enter")
    page.get_by_role("link", name="Substrings").click()
    expect(page.get_by_text("Published F1 by this rule")).to_be_visible()
    check(page, axe)
    page.get_by_text("Tolerance, and labels for all or nothing").click()
    page.get_by_label("Lowest similarity with tolerance").fill("0.25")
    page.get_by_role("checkbox", name="AGE").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("Chosen labels: AGE.")).to_be_visible()
    expect(page.get_by_text("Published F1 by this rule")).to_be_visible()
    page.locator("summary", has_text="Errors").first.click()
    page.get_by_role("link", name="Missed 10").click()
    expect(page.locator("mark")).to_have_text(["Torino"] * 10)
    page.get_by_role("link", name="caso-").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("caso-")


def test_a_slider_says_what_a_threshold_costs(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    """By keys; without scripts, a button loads the same figures. Narrow, in the dark."""
    other = make.make_author(world.project, kind="run", name="rules-2")
    for note in world.run.annotation_sets.select_related("document"):
        made = make.make_set(note.document, other, [ROSSI, CITY], submitted=True)
        made.spans.filter(label__code="CITY").update(confidence=0.42)
    page = page_of(world.rev)
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.goto(live("runs_compare", "covid"))
    slider, row = page.get_by_role("slider"), page.locator("tbody:visible tr", has_text="rules-2").last
    expect(page.get_by_role("button", name="Show")).to_be_hidden()
    expect(row).to_contain_text("200")
    slider.focus()
    for _ in range(9):
        slider.press("ArrowRight")
    expect(page.locator("output:visible")).to_have_text("0.45")
    expect(row).to_contain_text("100")
    expect(slider).to_have_attribute(
        "aria-valuetext",
        "At minimum confidence 0.45, rules-2 asks a reviewer for 100 decisions and misses 200 identifiers "
        "per 100 notes.",
    )
    # A word is explained where it stands, by keys.
    word, meaning = page.get_by_role("button", name="held-out", exact=True), page.locator(".term-text:popover-open")
    word.press("Enter")
    expect(meaning).to_contain_text("a model didn't learn")
    check(page, axe)
    page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)
    expect(word).to_be_focused()
    # On a phone, the words of a table's head stay in sight above its cards.
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("thead .term:visible", has_text="Recall").first.click()
    expect(meaning).to_contain_text("share of gold spans")
    expect(meaning).to_be_in_viewport()
    check(page, axe)
    plain = page_of(world.rev, java_script_enabled=False)
    plain.goto(live("runs_compare", "covid") + "?at=45")
    expect(plain.locator("tbody:visible tr", has_text="rules-2").last).to_contain_text("100")
    expect(plain.get_by_role("button", name="Show")).to_be_visible()
