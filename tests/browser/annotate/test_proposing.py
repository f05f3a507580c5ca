"""What the workbench proposes: the three likeliest labels, candidates one by one, a last look before submitting."""

import json
from typing import Any

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Project
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, open_note, place, press, quotes, reload, saved

FIRST = "Seen by Dr. van den Berg on 07/04/2017 2318.\r\nMary Smith came with Mrs Jones.\r\n"
SECOND = "Mary Smith was seen by van den Berg in Feb '09.\r\nMary Smith is well.\r\n"
KEYLESS = [("NAME", [("PATIENT", "t"), ("DOCTOR", "r")]), ("DATE", [("DATE", "d")]), ("LOCATION", [("CITY", "c")])]


def candidates(page: Page) -> list[str]:
    return page.evaluate("[...(CSS.highlights.get('candidate') ?? [])].map(String)")


def wait_for_candidates(page: Page, wanted: list[str]) -> None:
    page.wait_for_function(
        "wanted => JSON.stringify([...(CSS.highlights.get('candidate') ?? [])].map(String)) === wanted",
        arg=json.dumps(wanted, separators=(",", ":")),
    )


def test_the_likeliest_labels_have_the_keys_1_2_and_3(walk_over: Any) -> None:
    walk = walk_over(FIRST, SECOND, labels=KEYLESS)
    page = walk.page
    # A digit labels what keys selected; while the selection rests, the labels stand beside it and cover nothing of it.
    press(page, "Control+Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight")
    ranked = page.locator(".wb-ranked .chip")
    expect(ranked).to_have_count(3)
    assert [chip.inner_text().split()[0] for chip in ranked.all()] == ["1", "2", "3"]
    box, text = (
        page.locator(".wb-ranked").bounding_box(),
        page.evaluate("document.getSelection().getRangeAt(0).getBoundingClientRect().toJSON()"),
    )
    assert box and (box["y"] >= text["bottom"] or box["y"] + box["height"] <= text["top"])
    click_text(page, "Berg", click_count=2)
    first = page.locator("#palette .wb-label").first
    expect(page.locator("#palette .is-rank")).to_have_text(["1", "2", "3"])
    assert walk.after("r") == [("DOCTOR", "van den Berg")]
    click_text(page, "Mary", click_count=2)
    expect(first).to_contain_text("DOCTOR")  # used most
    # Names filter; the others keep their places.
    press(page, "F2")
    before = page.locator("#palette .wb-label").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    page.keyboard.type("pat")
    expect(page.locator("#palette .wb-label:visible")).to_have_count(1)
    after = page.locator("#palette .wb-label").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert before == after
    assert walk.after("Enter") == [("DOCTOR", "van den Berg"), ("PATIENT", "Mary Smith")]
    # In the next note, the same string gets the label that this person gave it.
    with page.expect_response("**/candidates"):
        walk.go_on()
    click_text(page, "Mary", click_count=2)
    expect(first).to_contain_text("PATIENT")
    assert walk.after("1") == [("PATIENT", "Mary Smith")]


def test_candidates_and_a_last_look_before_submitting(walk_over: Any) -> None:
    walk = walk_over(FIRST, FIRST, SECOND, labels=KEYLESS)
    page = walk.page
    assert candidates(page) == [], "the project does not show them"
    Project.objects.update(candidates=True)
    page.reload()
    page.wait_for_selector("html[data-workbench=ready]")
    found = ["van den Berg", "07/04/2017", "Mary Smith", "Jones"]
    wait_for_candidates(page, found)
    # A double click in a candidate takes the whole candidate, and its label comes first.
    click_text(page, "Smith", click_count=2)
    expect(page.locator("#palette .wb-label").first).to_contain_text("PATIENT")
    press(page, "1")
    wait_for_candidates(page, [each for each in found if each != "Mary Smith"])
    # Submitting asks about the rest; one key each labels or dismisses them.
    press(page, "Escape", "Enter")
    ask = page.locator("#ask-empty")
    expect(ask).to_contain_text("3 candidates left.")
    press(page, ",", "1", "d", "Delete")
    assert walk.made == [("DOCTOR", "van den Berg"), ("DATE", "07/04/2017"), ("PATIENT", "Mary Smith")]
    press(page, "Enter")
    walk.handed_in()
    # Another Enter submits all the same; names that the person labeled are candidates, too.
    wait_for_candidates(page, [*found[:3], "Jones"])
    press(page, "Enter")
    expect(ask).to_contain_text("Submit as containing no personal data?")
    press(page, "Enter")
    walk.handed_in()
    assert AnnotationSet.objects.filter(state="submitted").count() == 2
    wait_for_candidates(page, ["Mary Smith", "van den Berg", "Feb '09", "Mary Smith"])
    saved(page)
    assert quotes(walk.ann, walk.note) == []


def test_nothing_moves_when_something_is_selected(walk_over: Any) -> None:
    walk = walk_over(FIRST, labels=KEYLESS)
    page = walk.page

    def places() -> list[float]:
        return page.evaluate(
            """() => [...document.querySelectorAll("#side .wb-label, .line")]
                .map(each => each.getBoundingClientRect()).flatMap(box => [box.top, box.height])"""
        )

    def stays(still: dict[str, float]) -> bool:
        """Whether a word behind the span is where it was."""
        now = place(page, "Berg")
        return now["y"] == still["y"] and abs(now["x"] - still["x"]) < 0.1

    before, still = places(), place(page, "Berg")
    press(page, "Control+Home", "ArrowRight", "ArrowRight")
    expect(page.locator(".wb-ranked .chip")).to_have_count(3)
    assert places() == before
    # A chip moves no word: neither when its span is made, nor when it gets another label or is deleted.
    for key, name in (("d", "DATE"), ("t", "PATIENT")):
        press(page, key)
        expect(page.locator("#selected .chip")).to_have_text(name)
        expect(page.locator("#note .span")).to_have_attribute("data-label", name)
        assert places() == before and stays(still)
    press(page, "Delete")
    expect(page.locator("#note .span")).to_have_count(0)
    assert places() == before and stays(still)
    # For people who see a span's chip only while they point at it, neither.
    saved(page, "Control+z")
    type(walk.ann).objects.filter(pk=walk.ann.pk).update(reduced_chips=True)
    page.reload()
    page.wait_for_selector("html[data-workbench=ready]")
    still = place(page, "Berg")
    press(page, "Control+Home", "Tab")
    expect(page.locator("#note .span.is-selected")).to_have_count(1)
    assert stays(still)


# ── Auto-next: after a label's key the next candidate is selected, so that a span costs one key ──


TEXT = (
    "Nome: Mario Rossi, di 54 anni.\n"
    "Ricoverato il 12/03/2021 a Torino, visto dal dott. Rossi; inviato da Rossi.\n"
    "Torna il 20/03/2021.\n"
)


def chosen(page: Page, text: str) -> None:
    page.wait_for_function("text => document.getSelection().toString() === text", arg=text)


def test_a_key_a_span(transactional_db, page_of, live):
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    notes = [make.make_note(project, TEXT, f"caso-{number}", annotators=[ann]) for number in (1, 2)]
    page = open_note(page_of(ann), live, notes[0])
    switch = page.get_by_role("button", name="Move on")
    press(page, "Control+,", ",", "1")
    expect(switch).to_have_attribute("aria-pressed", "true")
    chosen(page, "54 anni")
    expect(page.locator("#selected .wb-quote")).to_have_text("54 anni")
    # Both ends of what is offered can be moved before it is labeled; a fast hand is not too fast.
    press(page, "Shift+ArrowLeft", "2", "d", "c")
    chosen(page, "Rossi")
    press(page, "Alt+ArrowLeft", "Alt+ArrowLeft", "Alt+ArrowRight", "Alt+ArrowRight", "2")
    # `*` is for the span that was labeled last; what it covers is not offered again.
    expect(page.locator("#selected .wb-hint")).to_have_text("Press * to label 1 other mention.")
    press(page, "*", "Enter")
    chosen(page, "20/03/2021")
    press(page, "Escape")
    # By mouse nothing goes on; from there keys do.
    drag(page, "Torna")
    press(page, "h")
    expect(page.locator("#note .is-selected")).to_have_text("Torna")
    press(page, ",", "d")
    expect(page.locator("#selected .wb-hint")).to_contain_text("No more candidates")
    saved(page)
    assert quotes(ann, notes[0]) == [
        ("PATIENT", "Mario Rossi"), ("DOCTOR", "54"), ("DATE", "12/03/2021"), ("CITY", "Torino"), ("DOCTOR", "Rossi"),
        ("DOCTOR", "Rossi"), ("HOSPITAL", "Torna"), ("DATE", "20/03/2021"),
    ]  # fmt: skip
    # The next note begins with its first candidate; Ctrl+Enter submits despite a selection; a reload keeps the setting.
    press(page, "Enter")
    expect(page.locator("#note-name")).to_have_text("caso-2")
    chosen(page, "Mario Rossi")
    reload(page)
    chosen(page, "Mario Rossi")
    press(page, "Control+Enter", "Control+Enter")
    expect(page.get_by_role("heading", name="You have finished all your notes")).to_be_visible()
    assert AnnotationSet.objects.filter(state="submitted").count() == 2
