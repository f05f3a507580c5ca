"""From three annotators to gold, by mouse and keys; two adjudicators; the list of disagreements."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Adjudication, Cause, Label, Role, Span
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, label_button, press, reload, saved
from tests.browser.widths import PHONE, chrome_faults

# The table of disagreements in the thesis, as one note (its tokens are the sentences').
TEXT = (
    "Uomo di 60 anni. ASL Latina Paziente Maschio.\r\n"
    "COVID-19: caso 98.\r\n"
    "Giunge al PS il 12/03/2021.\r\n"
    "Visto dal dott. Bianchi.\r\n"
)  # fmt: skip
LABELS = [
    ("NAME", [("PATIENT", "1"), ("DOCTOR", "2")]), ("DATE", [("DATE", "d")]),
    ("LOCATION", [("CITY", "c"), ("HOSPITAL", "h"), ("LOCATION_OTHER", "o")]), ("AGE", [("AGE", "a")]),
    ("ID", [("IDNUM", "i")]),
]  # fmt: skip
SAID = {
    "anna": [("60", "a"), ("ASL Latina", "h"), ("98", "i"), ("12/03/2021", "d")],
    "bruno": [("60", "a"), ("ASL Latina", "h"), ("98", "i"), ("PS", "o"), ("12/03/2021", "d")],
    "carla": [("60 anni", "a"), ("ASL", "h"), ("Latina", "c"), ("PS", "h"), ("12/03/2021", "d")],
}


@pytest.fixture
def world(transactional_db, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"  # jobs are done here, by hand
    project = make.make_project("sirm", labels=LABELS, name="SIRM")
    people = {name: make.make_member(project, user=name) for name in SAID}
    note = make.make_note(project, TEXT, "caso-98", annotators=people.values(), language="it")
    rita, rosa = (make.make_member(project, Role.REVIEWER, name) for name in ("rita", "rosa"))
    return SimpleNamespace(project=project, note=note, people=people, rita=rita, rosa=rosa)


def read_by_three(world: SimpleNamespace) -> None:
    """The annotators' submitted sets, made without their pages."""
    names = {key: name for _, labels in LABELS for name, key in labels}
    for name, said in SAID.items():
        spans = [(TEXT.index(part), TEXT.index(part) + len(part), names[key]) for part, key in said]
        make.make_set(world.note, world.people[name], spans, submitted=True)


def open_desk(page: Page, live: Any, world: SimpleNamespace) -> Page:
    page.goto(live("adjudicate", "sirm", world.note.pk))
    page.wait_for_selector("html[data-adjudicate=ready]")
    return page


def outcome(world: SimpleNamespace, kind: str = "adjudicated") -> list[tuple[str, str]]:
    rows = Span.objects.filter(annotation_set__document=world.note, annotation_set__author__kind=kind)
    found = rows.order_by("start", "end").values_list("label__name", "start", "end")
    return [(label, TEXT[start:end]) for label, start, end in found]


def chosen(page: Page) -> Any:
    return page.locator("#list [aria-current=true]")


# ── The whole way ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_from_three_annotators_to_gold(world, page_of, axe):
    read_by_three(world)
    world.note.assignments.update(state="done")
    page = page_of(world.rita, "adjudications", "sirm")
    page.get_by_role("link", name="Begin").click()
    page.wait_for_selector("html[data-adjudicate=ready]")
    assert axe(page) == []
    expect(chosen(page)).to_contain_text("60 anni")
    expect(page.locator(".ad-layers tbody tr")).to_have_count(4)  # three annotators and the majority
    press(page, "a")  # the majority says 60
    expect(chosen(page)).to_contain_text("ASL Latina")
    press(page, "3")  # carla's version, two spans
    expect(chosen(page)).to_contain_text("98")
    page.get_by_role("button", name="a Majority", exact=True).click()
    # Nobody has a majority for PS: that is said, a cause is named, and a third label is given by its key.
    expect(chosen(page)).to_contain_text("PS")
    press(page, "a")
    expect(page.locator("#notice")).to_contain_text("No version has a majority here")
    press(page, "w", "Escape")
    expect(page.locator("#note")).to_be_focused()
    press(page, "w", "a")
    expect(page.locator("#why [data-cause=AB]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#why [data-cause=AB]")).to_have_text("Abbreviation")
    expect(page.locator("#said")).to_have_text("Cause added: Abbreviation")
    press(page, "w", "m")
    expect(page.locator("#why [data-cause=AM]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#list")).to_contain_text("· Abbreviation · Ambiguity")
    press(page, "c")
    expect(page.locator("#note .is-selected")).to_have_attribute("data-label", "✓ CITY")
    # Accept the unanimous locations in one act; mark what all missed by mouse and a label's digit.
    press(page, "*")
    expect(page.locator("#left")).to_have_text("5, none open")
    drag(page, "Bianchi")
    press(page, "2")
    # Decide that PS is no personal data, and undo that.
    click_text(page, "PS")
    press(page, "x", "u")
    expect(page.locator("#note .is-selected")).to_have_attribute("data-label", "✓ CITY")
    saved(page)
    assert outcome(world) == [
        ("AGE", "60"), ("HOSPITAL", "ASL"), ("CITY", "Latina"), ("IDNUM", "98"), ("CITY", "PS"), ("DATE", "12/03/2021"),
        ("DOCTOR", "Bianchi"),
    ]  # fmt: skip
    assert sorted(Cause.objects.values_list("kind", flat=True)) == ["AB", "AM"]
    reload(page, "adjudicate")
    press(page, "Enter")  # finishes the note, makes its gold and goes on; this was the last one
    page.wait_for_url("**/adjudicate/?show=finished")
    expect(page.locator("#messages")).to_contain_text("its gold was made")
    assert Adjudication.objects.get().finished_by == world.rita
    assert outcome(world, "gold") == outcome(world)
    # carla sees what became of her spans, from the list of her notes.
    page = page_of(world.people["carla"], "notes", "sirm")
    page.get_by_role("link", name="outcome").click()
    expect(page.locator(".stats dd")).to_have_text(["3", "2", "0", "2"])
    expect(page.get_by_role("main")).not_to_contain_text("bruno")
    assert axe(page) == []


def test_the_text_shows_the_decided_spans(world, page_of, live):
    read_by_three(world)
    page = open_desk(page_of(world.rita), live, world)
    faults = chrome_faults(page, "#chosen tbody [data-act]", "#chosen .ad-acts .btn", "#after-location", "#finish")
    assert faults == []
    pieces = page.locator("#note .span")
    drawn = "pieces => pieces.map(piece => [piece.textContent, piece.dataset.label])"
    assert ["ASL Latina", "2 of 3 HOSPITAL"] in pieces.evaluate_all(drawn)
    # Before the decision the location spans all versions; then the text shows only what was decided, label by label.
    press(page, "a", "3")
    expect(page.locator("#note .is-decided-location")).to_have_text(["60", "ASL", "Latina"])
    assert pieces.evaluate_all(drawn)[:3] == [["60", "✓ AGE"], ["ASL", "✓ HOSPITAL"], ["Latina", "✓ CITY"]]
    # A click on one of the spans selects the location, all of which is marked.
    click_text(page, "Latina")
    expect(page.locator("#note .is-selected")).to_have_text(["ASL", "Latina"])
    expect(chosen(page)).to_contain_text("ASL Latina")
    drag(page, "Latina")
    press(page, "h")
    expect(page.locator("#note .is-decided-location")).to_have_text(["60", "ASL", "Latina"])
    expect(pieces.nth(2)).to_have_attribute("data-label", "✓ HOSPITAL")
    press(page, "x")
    expect(page.locator("#note .is-decided-location").nth(1)).to_have_attribute("data-label", "✓ no span")


# ── Disagreements ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_phone_shows_whole_buttons_and_the_badge_counts_for_this_person(world, page_of, live):
    read_by_three(world)
    desk = open_desk(page_of(world.rosa, **PHONE), live, world)
    unanimous = desk.locator("#unanimous")
    expect(unanimous).to_be_in_viewport(ratio=1)
    cut = "button => button.scrollWidth > button.clientWidth || button.scrollHeight > button.clientHeight"
    assert not unanimous.evaluate(cut)
    assert desk.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    saved(desk, "x")
    for person, waits in ((world.rosa, True), (world.rita, False)):
        page = page_of(person, "adjudications", "sirm")
        link = page.get_by_role("navigation").get_by_role("link", name="Adjudicate")
        expect(link.first).to_have_text(re.compile(r"Adjudicate\s*1" if waits else r"Adjudicate\s*$"))


def test_disagreements_by_keys(world, page_of, axe):
    read_by_three(world)
    page = page_of(world.rita, "disagreements", "sirm")
    page.wait_for_selector("html[data-disagreements=ready]")
    expect(page.locator(".ad-location")).to_have_count(4)
    rows = page.locator(".ad-location").nth(1).locator("tbody tr")
    expect(rows.nth(2).locator("td.here")).to_have_text(["B-HOSPITAL", "B-CITY"])
    # A cause goes on to the next location without one; with Shift it stays.
    first, second, third = (page.locator(".ad-location").nth(number) for number in range(3))
    press(page, "j", "j", "m")
    expect(second.locator("[data-cause=AM]")).to_have_attribute("aria-pressed", "true")
    expect(third).to_be_focused()
    press(page, "k", "k", "Shift+S", "d")
    expect(first.locator("[data-cause=D]")).to_have_attribute("aria-pressed", "true")
    expect(first.locator("[data-cause=S]")).to_have_attribute("aria-pressed", "true")
    expect(third).to_be_focused()
    press(page, "u")
    expect(first.locator("[data-cause=D]")).to_have_attribute("aria-pressed", "false")
    expect(first).to_be_focused()
    press(page, "m", "k", "k", "m")
    expect(first.locator("[data-cause=AM]")).to_have_attribute("aria-pressed", "false")
    saved(page)
    assert sorted(Cause.objects.values_list("kind", flat=True)) == ["AM", "S"]
    # Words are typed into the discussion, and are no keys; they outlive a look elsewhere.
    press(page, "c")
    expect(page.locator(".ad-talk textarea")).to_be_focused()
    page.keyboard.type("With its unit?")
    press(page, "Escape")
    expect(page.locator(".ad-location").first).to_be_focused()
    press(page, "c")
    expect(page.locator(".ad-talk textarea")).to_be_focused()
    press(page, "Control+Enter")
    expect(page.locator(".ad-said")).to_have_text("With its unit?")
    assert sorted(Cause.objects.values_list("kind", flat=True)) == ["AM", "S"]
    assert axe(page) == []
    page.get_by_role("link", name="Missed").click()
    expect(page.locator(".ad-location")).to_have_count(2)
    page.locator("#by-cause").select_option("AM")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("heading", name="No disagreement here")).to_be_visible()
    page.go_back()
    page.wait_for_selector("html[data-disagreements=ready]")
    press(page, "j", "o")
    page.wait_for_selector("html[data-adjudicate=ready]")
    expect(chosen(page)).to_contain_text("98")
    label_button(page, "IDNUM").click()  # The selected location gets that label over its whole text.
    saved(page)
    assert outcome(world) == [("IDNUM", "98")]


def test_attributes_are_shown_and_set_by_key_and_by_click(world, page_of, live):
    read_by_three(world)
    Label.objects.filter(name="DATE").update(attributes=[{"name": "Family"}, {"name": "Status", "values": ["past"]}])
    Span.objects.filter(annotation_set__author__name="anna", label__name="DATE").update(attributes={"Status": "past"})
    page = open_desk(page_of(world.rita), live, world)
    page.locator("#list .de-row", has_text="12/03/2021").click()
    expect(page.locator("#chosen")).to_contain_text("marked the same spans, with different attributes")
    press(page, "F4")
    expect(page.locator("#notice")).to_contain_text("Decide first, then press F4")
    press(page, "1")
    page.locator("#list .de-row", has_text="12/03/2021").click()
    expect(page.locator("#chosen .is-outcome .ad-attributes")).to_have_text("Status: past")
    press(page, "F4")
    window = page.get_by_role("dialog", name="Attributes")
    press(page, "1")
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family", "2past"])
    window.get_by_role("button", name="past").click()
    press(page, "Escape")
    expect(page.locator("#chosen .is-outcome .ad-attributes")).to_have_text("Family")
    saved(page)
    rows = Span.objects.filter(annotation_set__author__kind="adjudicated", label__name="DATE")
    assert list(rows.values_list("attributes", flat=True)) == [{"Family": True}]
    press(page, "u")
    expect(page.locator("#chosen .is-outcome .ad-attributes")).to_have_text("Family · Status: past")
