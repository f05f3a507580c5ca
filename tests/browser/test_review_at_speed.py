"""Review at speed in Chromium: filters, orders, the masked read with its hints, strings and bulk acts."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import BulkAct, Decision, ProposedString, Span
from tests import factories as make
from tests.browser.annotate.steps import press, saved
from tests.browser.test_review import TEXT, act, chosen, gold, open_review, propose, world

__all__ = ["world"]  # the fixture


@pytest.fixture
def sure(world: SimpleNamespace) -> SimpleNamespace:
    """Each proposal with a confidence of its own; and another run."""
    for start, confidence in zip(sorted({s.start for s in Span.objects.all()}), (0.95, 0.6, 0.3, 0.52), strict=True):
        Span.objects.filter(start=start).update(confidence=confidence)
    world.other = make.make_author(world.project, kind="run", name="crf-1")
    return world


def listed(page: Page) -> list[str]:
    return page.locator("#proposals .de-quote").all_inner_texts()


def test_filters_and_orders_by_mouse_go_along_to_the_next_note(sure: SimpleNamespace, page_of: Any, live: Any) -> None:
    page = open_review(page_of(sure.rita), live, sure)
    page.locator("#filters-box summary").click()
    page.get_by_label("Order").select_option("uncertainty")
    assert listed(page) == ["Bianchi", "12/03/2021", "Torino", "Mario Rossi"]
    page.get_by_label("to, %").fill("60")
    assert listed(page) == ["Bianchi", "12/03/2021", "Torino"]
    expect(chosen(page)).to_contain_text("Bianchi")
    page.get_by_role("searchbox", name="Text").fill("TORI")
    assert listed(page) == ["Torino"]
    assert page.url.endswith("?order=uncertainty&most=60"), "what is looked for in a note stands in no address"
    page.get_by_role("searchbox", name="Text").fill("")
    expect(page.locator("#left")).to_have_text("4 of 4 open")
    page.locator("#next-note").click()
    page.wait_for_url(f"**/{sure.notes[1].pk}/?order=uncertainty&most=60")
    page.wait_for_selector("html[data-review=ready]")
    assert listed(page) == ["Bianchi", "12/03/2021", "Torino"]
    page.get_by_role("button", name="Show all").click()
    assert len(listed(page)) == 4
    assert "?" not in page.url


def test_a_note_by_keys_ends_with_a_masked_read_and_its_hints(sure: SimpleNamespace, page_of: Any, live: Any) -> None:
    text = make.make_note(sure.project, TEXT + "Mario Rossi torna.\r\n", "caso-003", language="it")
    propose(text, sure.run)
    at = text.text.index("54 anni")
    make.make_set(text, sure.other, [(at, at + 7, "AGE")], submitted=True)
    page = open_review(page_of(sure.rita), live, sure, text)
    note = page.locator("#note")
    press(page, "v")
    expect(note).to_have_class(re.compile("is-masked"))
    press(page, "v", "a", "a", "c", "a")
    expect(note).to_have_class(re.compile("is-masked"))
    expect(page.locator("#hints-left")).to_have_text("2 to look at")
    expect(page.locator("#chosen-title")).to_have_text("Possible miss")
    # Another run found the age; the patient is named a second time.
    expect(page.locator("#chosen")).to_contain_text("Found by crf-1, and not by this run")
    press(page, "a")
    expect(page.locator("#chosen")).to_contain_text("The same words are in gold elsewhere")
    press(page, "x")
    expect(page.locator("#hints-left")).to_have_text("none")
    saved(page)
    assert ("AGE", "54 anni") in gold(text)
    # What is masked is hidden from the eye; a place in it can still be chosen and is then shown.
    name = note.locator(".span", has_text="Mario Rossi").first
    assert name.evaluate("node => getComputedStyle(node).fontSize") == "0px"
    page.locator("#recent").evaluate("node => node.parentElement.open = true")
    page.locator("#recent button", has_text="Mario Rossi").click()
    assert name.evaluate("node => getComputedStyle(node).fontSize") != "0px"
    press(page, "x")  # a decision that stays listed can be changed
    saved(page)
    assert ("PATIENT", "Mario Rossi") not in gold(text)
    press(page, "Enter")
    page.wait_for_url(f"**/review/{sure.run.pk}/{sure.note.pk}/")


def test_a_string_by_keys(sure: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    page = page_of(sure.rita)
    page.goto(live("review_strings", "covid"))
    assert axe(page) == []
    page.get_by_role("link", name="Mario Rossi").press("Enter")
    page.wait_for_selector("html[data-strings=ready]")
    assert axe(page) == []
    boxes = page.locator("[name=tick]")
    expect(boxes.first).to_be_focused()
    press(page, "j", " ")
    expect(page.locator("#ticked")).to_contain_text("1 of 2 open places")
    press(page, "a")
    expect(page.locator("#count")).to_have_text("1")
    assert axe(page) == []
    assert not Decision.objects.exists()
    expect(page.get_by_role("button", name="Accept 1 proposal")).to_be_focused()
    press(page, "Enter")
    expect(page.locator("#decided")).to_contain_text("1 of 1")
    assert (gold(sure.note), gold(sure.notes[1])) == ([("PATIENT", "Mario Rossi")], [])
    page.get_by_role("button", name="Take all of it back").press("Enter")
    expect(page.locator("#taken-back")).to_have_text("1")
    assert axe(page) == []
    assert gold(sure.note) == []
    assert ProposedString.objects.get(author=sure.run, label_id=make.label_of(sure.project, "PATIENT").pk).open == 2


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_a_threshold_by_mouse(
    sure: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int, scheme: str
) -> None:
    page = page_of(sure.rita, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(live("review_bulk_new", "covid") + f"?run={sure.run.pk}")
    assert axe(page) == []
    page.get_by_label("Confidence, at least").fill("50")
    page.get_by_role("button", name="Show what that is").click()
    expect(page.locator("#count")).to_have_text("6")
    expect(page.get_by_text("too few such decisions")).to_be_visible()
    page.get_by_role("button", name="Accept 6 proposals").click()
    expect(page.locator("#decided")).to_contain_text("6 of 6")
    assert BulkAct.objects.get().decided == 6
    for name in ("acceptance", "review_strings", "review_bulk_new"):
        page.goto(live(name, "covid"))
        assert axe(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), name
    open_review(page, live, sure)
    box = page.locator("#note").bounding_box()
    assert box and box["width"] > min(width - 40, 900), "on a phone the note has the whole width"
    page.locator("#filters-box summary").click()
    assert axe(page) == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    act(page, "reject").first.click()
    saved(page)
