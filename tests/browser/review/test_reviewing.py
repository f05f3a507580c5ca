"""The review page in Chromium: by mouse, by keyboard alone, and finishing."""

import base64
import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from annotations.models import AnnotationSet, Decision, DocumentSource, Label, Review, Span, StoredFile
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, label_button, painted, press, saved
from tests.browser.review.steps import (
    TEXT,
    act,
    chosen,
    gold,
    open_review,
    opened,
    states,
    suggest,
    world,
)
from tests.waiting import wait_for

__all__ = ["opened", "world"]

# The smallest PNG.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M9QDwADgQGAWjR9awAAAABJRU5ErkJggg=="
)


# ── By mouse ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_by_mouse(opened: Page, world: SimpleNamespace) -> None:
    expect(chosen(opened)).to_contain_text("Mario Rossi")
    expect(opened.locator("#chosen")).to_contain_text("by rule.of.mine, confidence 80%")
    act(opened, "accept").click()
    expect(chosen(opened)).to_contain_text("12/03/2021")
    act(opened, "reject").click()
    # Torino is a city, not a hospital; another label accepts with that label.
    expect(chosen(opened)).to_contain_text("Torino")
    label_button(opened, "CITY").click()
    expect(chosen(opened)).to_contain_text("Bianchi")
    # The doctor's title belongs to the name; the selected text becomes the bounds.
    drag(opened, "dott. Bianchi")
    expect(opened.locator("#chosen-title")).to_have_text("Selected text")
    opened.locator("#palette-ends").click()
    saved(opened)
    # The age was missed.
    drag(opened, "54 anni")
    opened.locator("#palette").get_by_role("button", name="AGE").click()
    saved(opened)
    assert gold(world.note) == [
        ("PATIENT", "Mario Rossi"), ("AGE", "54 anni"), ("CITY", "Torino"), ("DOCTOR", "dott. Bianchi"),
    ]  # fmt: skip
    assert painted(opened) == [
        ("PATIENT", "Mario Rossi"), ("AGE", "54 anni"), ("DATE", "12/03/2021"), ("CITY", "Torino"),
        ("DOCTOR", "dott. Bianchi"),
    ]  # fmt: skip
    assert states(opened) == ["accepted", "rejected", "accepted", "accepted"]
    opened.get_by_role("button", name="Finish review").click()
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    assert Review.objects.get().finished_by == world.rita
    assert AnnotationSet.objects.get(author__kind="gold").state == "submitted"


def test_a_click_during_which_an_answer_arrives_counts(opened: Page) -> None:
    held: list[Route] = []
    opened.route("**/*", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    act(opened, "accept").click()
    expect(chosen(opened)).to_contain_text("12/03/2021")
    act(opened, "reject").hover()
    opened.mouse.down()
    wait_for(lambda: (opened.wait_for_timeout(20), held)[1], what="the decision's request")
    held[0].continue_()
    saved(opened)
    opened.mouse.up()
    expect(chosen(opened)).to_contain_text("Torino")
    opened.unroute_all()


@pytest.mark.parametrize("by", ["keys", "mouse"])
def test_what_a_correction_leaves_out_is_offered_for_a_label(opened: Page, world: SimpleNamespace, by: str) -> None:
    selected = "String(document.getSelection())"
    drag(opened, "Mario")
    press(opened, "e") if by == "keys" else opened.locator("#palette-ends").click()
    assert opened.evaluate(selected) == "Rossi"
    expect(opened.locator("#chosen")).to_contain_text("The correction left this text out.")
    press(opened, "2") if by == "keys" else opened.locator("#palette").get_by_role("button", name="DOCTOR").click()
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    # Both sides of a part in the middle, one after the other; Esc leaves the rest out.
    click_text(opened, "12/03/2021")
    drag(opened, "03")
    press(opened, "e")
    assert opened.evaluate(selected) == "12"
    press(opened, "d")
    assert opened.evaluate(selected) == "2021"
    press(opened, "Escape", "Escape")  # the palette, then the text
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi"), ("DATE", "12"), ("DATE", "03")]
    assert opened.evaluate(selected) == ""


def test_what_ends_moved_by_keys_leave_out_is_offered_for_a_label(opened: Page, world: SimpleNamespace) -> None:
    selected = "String(document.getSelection())"
    offered = opened.locator("#chosen [data-act=ends]")
    expect(offered).to_have_count(0)
    press(opened, "Shift+ArrowLeft")
    expect(offered).to_have_text("Label what was left out: Rossi E")
    # The next key still moves the end: back to the whole suggestion, then to its first word again.
    press(opened, "Shift+ArrowRight")
    expect(offered).to_have_count(0)
    press(opened, "Shift+ArrowLeft")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario")] and opened.evaluate(selected) == ""
    press(opened, "e")
    assert opened.evaluate(selected) == "Rossi"
    expect(opened.locator("#palette")).to_be_hidden()
    expect(opened.locator("#chosen")).to_contain_text("The correction left this text out.")
    press(opened, "2")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    click_text(opened, "Mario")
    expect(offered).to_have_count(0)
    # By mouse, the button does the same.
    click_text(opened, "12/03/2021")
    press(opened, "Alt+ArrowRight", "Alt+ArrowRight")
    offered.click()
    assert opened.evaluate(selected) == "12"
    press(opened, "Escape")
    assert opened.evaluate(selected) == ""


@pytest.mark.parametrize("width", [1440, 900])
def test_the_labels_for_what_was_left_out_do_not_cover_the_list(
    opened: Page, world: SimpleNamespace, width: int
) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    click_text(opened, "12/03/2021")
    drag(opened, "12")
    opened.locator("#palette-ends").click()
    assert opened.evaluate("String(document.getSelection())") == "03/2021"
    expect(opened.locator("#palette")).to_be_visible()
    palette, side = (opened.locator(place).bounding_box() for place in ("#palette", "#side"))
    assert palette and side and palette["x"] + palette["width"] <= side["x"]
    opened.locator("#suggestions button", has_text="Bianchi").click()
    expect(chosen(opened)).to_contain_text("Bianchi")


def test_provenance_is_kept_and_shown(opened: Page, world: SimpleNamespace) -> None:
    click_text(opened, "Torino")
    label_button(opened, "CITY").click()
    saved(opened)
    provenance = Span.objects.get(annotation_set__author__kind="gold").provenance
    assert provenance["from"] == "run:rules-1"
    assert (provenance["confidence"], provenance["source"], provenance["by"]) == (0.8, "rule.of.mine", "rita")
    assert provenance["changed"] == ["label"]
    click_text(opened, "Torino")
    expect(opened.locator("#chosen")).to_contain_text("Torino HOSPITAL")
    expect(opened.locator("#chosen")).to_contain_text(re.compile(r"Accepted by you, \d+ \w+ \d{4}, \d\d:\d\d"))
    expect(opened.locator("#chosen")).to_contain_text("In gold as Torino CITY")


def test_clicks_select_and_undo_reverts(opened: Page, world: SimpleNamespace) -> None:
    opened.locator("#suggestions button", has_text="Bianchi").click()
    expect(opened.locator("#note .is-selected")).to_have_text("Bianchi")
    act(opened, "reject").click()
    expect(opened.locator("#note .is-rejected")).to_have_text("Bianchi")
    saved(opened)
    opened.get_by_role("button", name="Undo").click()
    expect(opened.locator("#note .is-rejected")).to_have_count(0)
    expect(chosen(opened)).to_contain_text("Bianchi")  # the undone suggestion is selected
    opened.get_by_role("button", name="Redo").click()
    expect(opened.locator("#note .is-rejected")).to_have_text("Bianchi")
    opened.get_by_role("button", name="Previous suggestion").click()
    expect(chosen(opened)).to_contain_text("Torino")
    opened.get_by_role("button", name="Next suggestion").click()
    expect(chosen(opened)).to_contain_text("Bianchi")
    act(opened, "accept").click()  # a decision can be changed
    saved(opened)
    assert gold(world.note) == [("DOCTOR", "Bianchi")]
    assert Decision.objects.count() == 1


@pytest.mark.both_databases
def test_a_double_click_decides_once(opened: Page, world: SimpleNamespace) -> None:
    act(opened, "accept").dblclick()
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    label_button(opened, "CITY").dblclick()
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("CITY", "12/03/2021")]


def test_an_added_span_can_be_removed(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "Escape")
    drag(opened, "54 anni")
    assert opened.locator("#palette-ends").count() == 0, "no suggestion is selected"
    label_button(opened, "AGE").click()
    saved(opened)
    click_text(opened, "54 anni")
    expect(opened.locator("#chosen-title")).to_have_text("Selected gold span")
    expect(opened.locator("#chosen")).to_contain_text("Added by you")
    opened.get_by_role("button", name="Remove from gold").click()
    saved(opened)
    assert gold(world.note) == []
    press(opened, "u")
    expect(opened.locator("#note .is-accepted")).to_have_text("54 anni")


# ── By keyboard alone ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_by_keys(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "x", "c")  # accept, reject, accept as CITY
    expect(chosen(opened)).to_contain_text("Bianchi")
    press(opened, "Alt+ArrowLeft", "Alt+ArrowLeft")  # its left end: over the point to dott
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("CITY", "Torino"), ("DOCTOR", "dott. Bianchi")]
    press(opened, "k", "k", "k")
    expect(chosen(opened)).to_contain_text("Mario Rossi")
    press(opened, "m", "ArrowRight", "Shift+ArrowRight")  # over the comma: 54 anni
    expect(opened.locator("#chosen")).to_contain_text("54 anni")
    press(opened, "Enter")
    expect(opened.locator("#palette-ends")).to_be_focused()
    press(opened, "ArrowDown", "ArrowUp", "ArrowUp", "Enter")  # the last label: AGE has no key
    expect(opened.locator("#note")).to_be_focused()
    saved(opened)
    assert ("AGE", "54 anni") in gold(world.note)
    press(opened, "Enter")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")


def test_bounds_by_keys_and_by_the_selected_text(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "Shift+ArrowLeft")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario")]
    press(opened, "Shift+ArrowRight", "Alt+ArrowLeft")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Paziente Mario Rossi")]
    press(opened, "m", "ArrowLeft", "Shift+ArrowLeft", "e")  # from the comma after it back over Rossi to Mario
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    assert Decision.objects.count() == 1
    press(opened, "u", "u", "u", "u")
    saved(opened)
    expect(opened.locator("#note .is-accepted")).to_have_count(0)
    assert gold(world.note) == []
    press(opened, "Control+Shift+z", "Control+y", "Control+y", "Control+y")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]


def test_moving_skipping_and_clearing_the_selection(opened: Page) -> None:
    press(opened, "j", "ArrowDown")
    expect(chosen(opened)).to_contain_text("Torino")
    press(opened, "a", "k", "k")
    expect(chosen(opened)).to_contain_text("12/03/2021")
    press(opened, " ")  # over the accepted one
    expect(chosen(opened)).to_contain_text("Bianchi")
    press(opened, " ")
    expect(chosen(opened)).to_contain_text("Mario Rossi")
    press(opened, "Escape")
    expect(opened.locator("#suggestions [aria-current]")).to_have_count(0)
    press(opened, "a")  # does nothing without a selection
    press(opened, "Escape")
    assert opened.evaluate("document.activeElement.id") == "side"
    assert states(opened).count("open") == 3


def test_buttons_keep_the_focus(opened: Page, world: SimpleNamespace) -> None:
    act(opened, "accept").focus()
    press(opened, "Enter", "Enter")
    saved(opened)
    expect(act(opened, "accept")).to_be_focused()
    assert [label for label, _ in gold(world.note)] == ["PATIENT", "DATE"]
    opened.locator("#suggestions button").nth(3).focus()
    press(opened, " ")
    expect(opened.locator("#suggestions button").nth(3)).to_be_focused()
    expect(chosen(opened)).to_contain_text("Bianchi")


def test_the_list_of_keys(opened: Page) -> None:
    press(opened, "?")
    sheet = opened.get_by_role("dialog", name="Keys")
    for words in (
        "Accept",
        "Reject",
        "Skip to the next open suggestion",
        "Ctrl+Z",
        "Finish when nothing is open",
        "PATIENT",
    ):
        expect(sheet).to_contain_text(words)
    press(opened, "Escape")
    expect(sheet).to_be_hidden()


def test_n_and_p_save_and_go_to_the_neighboring_notes(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "n")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "p")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[0].pk}/")
    opened.wait_for_selector("html[data-review=ready]")
    expect(opened.locator("#notes [aria-current]")).to_have_text("started:caso-001")
    opened.locator("#notes").get_by_role("link", name="caso-002").click()
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")


# ── Finishing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_with_open_suggestions_can_not_be_finished(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "Enter")
    expect(opened.locator("#notice")).to_contain_text("3 suggestions are still open")
    expect(chosen(opened)).to_contain_text("12/03/2021")
    saved(opened)
    assert Review.objects.get().finished_at is None


def test_the_last_note_leads_to_a_final_page_and_a_finished_one_can_be_reopened(
    opened: Page, world: SimpleNamespace
) -> None:
    for _ in world.notes:
        opened.wait_for_selector("html[data-review=ready]")
        press(opened, "x", "x", "x", "x")
        expect(opened.locator("#left")).to_have_text("4, none open")
        expect(opened.locator("#finish")).to_have_class(re.compile("primary"))
        press(opened, "Enter")
        opened.wait_for_load_state()
        opened.wait_for_function("() => !document.querySelector('#finish:disabled')")
    expect(opened.get_by_role("heading", name="rules-1 is reviewed")).to_be_visible()
    assert Review.objects.filter(found_empty=True).count() == 2
    opened.go_back()
    opened.goto(opened.url)
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "j", "a")
    expect(opened.locator("#notice")).to_contain_text("is finished")
    expect(act(opened, "accept")).to_be_disabled()
    opened.get_by_role("button", name="Reopen").click()
    opened.wait_for_selector("#workbench[data-state=draft]")
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "j", "a")
    saved(opened)
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_a_note_without_suggestions(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    note = make.make_note(world.project, "Niente.\n", "vuota")
    make.make_set(note, world.run, [], submitted=True)
    page = open_review(page_of(world.rita), live, world, note)
    expect(page.locator("#chosen")).to_contain_text("This run has no suggestions in this note")
    press(page, "j", "k", "a", "x", "e", " ", "Enter")
    page.wait_for_url(re.compile(rf"/review/{world.run.pk}/{world.note.pk}/"))
    assert Review.objects.get(document=note).found_empty


def test_a_long_list_of_notes_leaves_the_page_as_high_as_the_window(world: Any, page_of: Any, live: Any) -> None:
    """Otherwise the browser would scroll the selected suggestion out of sight."""
    for number in range(60):
        suggest(make.make_note(world.project, TEXT, f"caso-1{number:02}", language="it"), world.run)
    page = open_review(page_of(world.rita), live, world)
    assert page.evaluate("document.documentElement.scrollHeight") == page.evaluate("innerHeight")


def test_attributes_are_shown_and_kept(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    Span.objects.filter(label__name="PATIENT", start=TEXT.index("Mario Rossi")).update(attributes={"Family": True})
    page = open_review(page_of(world.rita, viewport={"width": 390, "height": 844}), live, world)
    expect(page.locator("#chosen .wb-attributes")).to_have_text("Family")
    expect(page.locator("#note .has-attributes").first).to_have_attribute("aria-label", re.compile("PATIENT, Family"))
    assert axe(page) == []
    press(page, "a")
    saved(page)
    expect(page.locator("#note .has-attributes").first).to_have_attribute("aria-label", re.compile("PATIENT, Family"))
    assert Span.objects.get(annotation_set__author__kind="gold").attributes == {"Family": True}


def test_attributes_are_set_by_key_and_by_click(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    Label.objects.filter(name="PATIENT").update(attributes=[{"name": "Family"}, {"name": "Status", "values": ["past"]}])
    page = open_review(page_of(world.rita), live, world)
    press(page, "F4")
    expect(page.locator("#notice")).to_contain_text("Decide first, then press F4")
    press(page, "a", "k", "F4")
    window = page.get_by_role("dialog", name="Attributes")
    assert axe(page) == []
    press(page, "1")
    window.get_by_role("button", name="past").click()
    press(page, "Escape")
    expect(page.locator("#chosen .wb-attributes")).to_have_text("Family · Status: past")
    saved(page)
    assert Span.objects.get(annotation_set__author__kind="gold").attributes == {"Family": True, "Status": "past"}
    press(page, "u")
    expect(page.locator("#chosen .wb-attributes")).to_have_text("Family")
    act(page, "attributes").click()
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family"])


def test_the_page_of_the_document_beside_the_text(world: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    original = StoredFile.objects.create(project=world.project, kind=StoredFile.Kind.ORIGINAL, name="a.pdf")
    places = [[0, 11, "page 1"], [13, len(TEXT), "page 2"]]
    DocumentSource.objects.create(document=world.note, original=original, name="a.pdf", kind="pdf", places=places)
    page = page_of(world.rita)
    page.route("**/original/pages/*", lambda route: route.fulfill(content_type="image/png", body=PIXEL))
    open_review(page, live, world)
    expect(page.locator("#chosen .wb-places")).to_contain_text("In the document: page 1")
    press(page, "F8")
    beside = page.get_by_role("complementary", name="page 1")
    expect(beside.get_by_role("img", name="Picture of the document: page 1")).to_be_visible()
    assert axe(page) == []
    columns = [page.locator(part).bounding_box() for part in (".wb-middle", ".wb-page", ".wb-side")]
    assert all(one and other and one["x"] + one["width"] <= other["x"] + 1 for one, other in pairwise(columns))
    press(page, "Escape")
    expect(beside).to_be_hidden()
    press(page, "j")
    page.locator("#chosen .wb-places a").click()
    expect(page.get_by_role("complementary", name="page 2")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".wb-page")).to_be_in_viewport(ratio=0.99)
    page.get_by_role("button", name="Close page").click()
    expect(page.locator(".wb-page")).to_be_hidden()
    DocumentSource.objects.update(places=[])
    open_review(page, live, world)
    press(page, "F8")
    expect(page.locator("#notice")).to_contain_text("No page to show. Select a span")
