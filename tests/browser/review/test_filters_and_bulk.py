"""Fast review in Chromium: filters, orders, the masked note with hints, strings and bulk acts."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.jobs.runner import run as work
from annotations.models import Decision, Label, Review, Span, SuggestedString
from annotations.review.services.planting import draw_leaks
from models_runtime.models import Run
from tests import factories as make
from tests.browser.annotate.steps import TEXT, click_text, label_button, press, reload, saved
from tests.browser.review.steps import chosen, gold, listed, open_review, states, suggest
from tests.worlds.refined import refine


@pytest.fixture
def scored(world):
    """Suggestions with different confidences, and another run."""
    for start, confidence in zip(sorted({s.start for s in Span.objects.all()}), (0.95, 0.6, 0.3, 0.52), strict=True):
        Span.objects.filter(start=start).update(confidence=confidence)
    world.other = make.make_author(world.project, kind="run", name="crf-1")
    return world


def test_filters_and_orders_by_mouse_are_carried_to_the_next_note(scored, page_of, live):
    page = open_review(page_of(scored.rita), live, scored)
    page.locator("#filters-box summary").click()
    page.get_by_label("Order").select_option("uncertainty")
    page.get_by_label("to (%)").fill("60")
    assert listed(page) == ["Bianchi", "12/03/2021", "Torino"]
    page.get_by_role("searchbox", name="Text").fill("TORI")
    assert listed(page) == ["Torino"]
    assert page.url.endswith("?order=uncertainty&most=60"), "the searched text is not in the URL"
    page.get_by_role("searchbox", name="Text").fill("")
    page.locator("#next-note").click()
    page.wait_for_url(f"**/{scored.notes[1].pk}/?order=uncertainty&most=60")
    page.wait_for_selector("html[data-review=ready]")
    assert listed(page) == ["Bianchi", "12/03/2021", "Torino"]


def test_a_note_by_keys_ends_masked_and_with_hints(scored, page_of, live):
    text = make.make_note(scored.project, TEXT + "Mario Rossi torna.\r\n", "caso-003", language="it")
    suggest(text, scored.run)
    at = text.text.index("54 anni")
    make.make_set(text, scored.other, [(at, at + 7, "AGE")], submitted=True)
    # A label that got the key "v" before the key was reserved has no key here.
    Label.objects.filter(name="HOSPITAL").update(hotkey="v")
    page = open_review(page_of(scored.rita), live, scored, text)
    note = page.locator("#note")
    expect(label_button(page, "HOSPITAL").locator("kbd")).to_have_count(0)
    press(page, "v")
    expect(note).to_have_class(re.compile("is-masked"))
    press(page, "v", "a", "a", "c", "a")
    expect(note).to_have_class(re.compile("is-masked"))
    expect(page.locator("#hints-left")).to_have_text("2 to check")
    expect(page.locator("#chosen-title")).to_have_text("Possible missed identifier")
    # Another run found the age; the patient is named a second time.
    expect(page.locator("#chosen")).to_contain_text("Found by crf-1, but not by this run")
    press(page, "a")
    expect(page.locator("#chosen")).to_contain_text("The same text is in gold elsewhere")
    press(page, "x")
    expect(page.locator("#hints-left")).to_have_text("none")
    saved(page)
    assert ("AGE", "54 anni") in gold(text)
    # Masked text is invisible, and stays so when it is selected; the panel masks it, too.
    name = note.locator(".span", has_text="Mario Rossi").first
    assert name.evaluate("node => getComputedStyle(node).fontSize") == "0px"
    page.locator("#recent").evaluate("node => node.parentElement.open = true")
    page.locator("#recent button", has_text="Mario Rossi").click()
    assert name.evaluate("node => getComputedStyle(node).fontSize") == "0px"
    expect(page.locator("#chosen")).to_contain_text("[PATIENT]")
    expect(page.locator("#chosen")).not_to_contain_text("Mario Rossi")
    press(page, "v")
    expect(page.locator("#chosen")).to_contain_text("Mario Rossi")
    press(page, "v")
    saved(page, "x")  # a recent decision can be changed
    assert ("PATIENT", "Mario Rossi") not in gold(text)
    press(page, "Enter")
    page.wait_for_url(f"**/review/{scored.run.pk}/{scored.note.pk}/")


def test_one_key_accepts_the_rest_and_finishes_unless_there_are_hints(scored, page_of, live):
    second = scored.notes[1]
    at = second.text.index("54 anni")
    make.make_set(second, scored.other, [(at, at + 7, "AGE")], submitted=True)
    page = open_review(page_of(scored.rita), live, scored)
    expect(page.locator("#finish-rest")).to_contain_text("Accept the rest (4) and finish")
    expect(chosen(page)).to_contain_text("Mario Rossi")
    page.keyboard.down("Alt")
    click_text(page, "Torino")
    page.keyboard.up("Alt")
    expect(chosen(page)).to_contain_text("Bianchi")
    press(page, "Shift+Enter")
    page.wait_for_url(f"**/review/{scored.run.pk}/{second.pk}/")
    page.wait_for_selector("html[data-review=ready]")
    assert [label for label, _text in gold(scored.note)] == ["PATIENT", "DATE", "DOCTOR"]
    # Here another run found something, which is shown first, in the masked note.
    page.locator("#finish-rest").click()
    expect(page.locator("#notice")).to_contain_text("1 identifier may have been missed")
    expect(page.locator("#chosen")).to_contain_text("Found by crf-1, but not by this run")
    assert not Decision.objects.filter(review__document=second).exists(), "nothing is decided yet"
    page.locator("#note").focus()
    press(page, "a", "Shift+Enter")
    page.wait_for_url(f"**/review/{scored.run.pk}/?after={second.pk}")
    assert ("AGE", "54 anni") in gold(second) and len(gold(second)) == 5


def test_a_string_by_keys(scored, page_of, axe):
    page = page_of(scored.rita, "review_strings", "covid")
    page.get_by_role("link", name="Mario Rossi").press("Enter")
    page.wait_for_selector("html[data-strings=ready]")
    expect(page.locator("[name=tick]").first).to_be_focused()
    press(page, "j", " ")
    expect(page.locator("#ticked")).to_contain_text("1 of 2 open locations")
    press(page, "?")
    expect(page.locator("#keys-list")).to_contain_text("Accept")
    press(page, "Escape", "a")
    expect(page.locator("#decided")).to_contain_text("1 of 1")
    assert axe(page) == []
    expect(page.get_by_role("link", name="Review by string").last).to_be_focused()
    assert (gold(scored.note), gold(scored.notes[1])) == ([("PATIENT", "Mario Rossi")], [])
    page.get_by_role("button", name="Undo bulk act").press("Enter")
    expect(page.locator("#undone-decisions")).to_have_text("1")
    assert gold(scored.note) == []
    assert (
        SuggestedString.objects.get(author=scored.run, label_id=make.label_of(scored.project, "PATIENT").pk).open == 2
    )


def test_strings_are_decided_in_their_list(scored, page_of, axe):
    """By keys and by mouse; the next string is selected by itself, and the last decision can be undone."""
    page = page_of(scored.rita, "review_strings", "covid")
    page.wait_for_selector("html[data-string-list=ready]")
    rows = page.locator(".rv-row")
    expect(rows.first.locator(".rv-context")).to_contain_text("Mario Rossi")
    press(page, "j", "a", "x")
    expect(rows.nth(0)).to_contain_text("2 accepted")
    expect(rows.nth(1)).to_contain_text("2 rejected")
    expect(rows.nth(2)).to_be_focused()
    expect(page.locator("#toast")).to_contain_text("Rejected everywhere")
    assert axe(page) == []
    press(page, "u")
    expect(rows.nth(1)).to_be_focused()
    expect(rows.nth(1).get_by_role("button", name="Reject")).to_be_visible()
    rows.nth(0).get_by_role("button", name="Undo").click()
    expect(rows.nth(0).get_by_role("button", name="Accept")).to_be_visible()
    assert not Decision.objects.exists()
    rows.nth(3).get_by_role("button", name="Accept").click()
    expect(rows.nth(3)).to_contain_text("2 accepted")
    assert Decision.objects.count() == 2


def test_runs_together_by_keys(scored, page_of, live, axe):
    """Select runs in the list; one key decides conflicting suggestions of two runs, and one key undoes it."""
    at = TEXT.index("Mario")
    for note in scored.notes:
        make.make_set(note, scored.other, [(at, at + 5, "PATIENT")], submitted=True)
    page = page_of(scored.rita, "runs", "covid")
    for name in ("crf-1", "rules-1"):
        page.get_by_label(f"Review {name} together with other runs").press(" ")
    page.get_by_role("button", name="Review together").press("Enter")
    page.wait_for_url("**/runs/*/")
    run = Run.objects.get()
    work(run.job_id)
    page.goto(live("review", "covid", run.author_id, scored.note.pk))
    page.wait_for_selector("html[data-review=ready]")
    backing = page.locator(".rv-backing")
    expect(backing).to_have_text("1 of 2 runs: crf-1")
    expect(page.locator(".rv-conflicting")).to_contain_text("Mario Rossi")
    assert axe(page) == []
    press(page, "j")
    expect(backing).to_have_text("1 of 2 runs: rules-1 (95%)")
    press(page, "a")
    assert [state.split(" · ")[1] for state in states(page)][:2] == ["rejected", "accepted"]
    expect(chosen(page)).to_contain_text("12/03/2021")
    saved(page)
    assert gold(scored.note) == [("PATIENT", "Mario Rossi")]
    saved(page, "u")
    assert [state.split(" · ")[1] for state in states(page)] == ["open"] * 5
    page.locator("#filters-box summary").click()
    page.get_by_label("Agreeing runs").select_option("2")
    assert listed(page) == []


def test_two_reviewers_by_keys(scored, page_of, live, axe):
    """The second reviewer decides blind, sees the differences, takes over one decision of the first, and finishes."""
    type(scored.project).objects.update(second_review="blind")
    first = open_review(page_of(scored.rita), live, scored)
    saved(first, "a", "a", "c", "a")
    press(first, "Enter")
    first.wait_for_url(f"**/{scored.notes[1].pk}/")
    page = open_review(page_of(scored.rosa), live, scored)
    expect(page.locator("#stage")).to_contain_text("rita reviewed this note first. You decide without seeing")
    assert states(page) == ["open"] * 4
    saved(page, "a", "x", "x", "a")
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("You and rita differ in 2 locations")
    expect(page.locator("#stage")).to_contain_text("You and rita both reviewed this note")
    assert listed(page) == ["12/03/2021", "Torino"]
    expect(page.locator(".rv-first")).to_have_text(re.compile("rita: accepted"))
    assert axe(page) == []
    press(page, "=")
    expect(page.locator("#suggestions .de-quote")).to_have_text(["Torino"])
    saved(page)
    press(page, "Enter")
    page.wait_for_url(f"**/{scored.notes[1].pk}/")
    assert gold(scored.note) == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("DOCTOR", "Bianchi")]
    review = Review.objects.get(document=scored.note)
    assert (review.finished_by, review.handovers.get().first) == (scored.rosa, scored.rita)
    page.goto(live("acceptance", "covid"))
    expect(page.get_by_role("heading", name="Agreement between two reviewers")).to_be_visible()


def test_a_planted_leak_by_keys(scored, page_of, live, axe, monkeypatch):
    """A missed leak is shown when finishing, and decided."""
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    type(scored.project).objects.update(planted_share=10)
    for note in scored.notes:
        suggest(note, scored.other)
    draw_leaks(scored.run, [note.pk for note in scored.notes])
    page = open_review(page_of(scored.rita), live, scored)
    expect(page.locator(".rv-planting")).to_contain_text(
        "In about 1 note of 10, a known or likely identifier is hidden"
    )
    assert listed(page) == ["12/03/2021", "Torino", "Bianchi"]
    expect(page.locator("#hints-box")).not_to_contain_text("Mario Rossi")
    saved(page, "a", "c", "a")
    press(page, "Enter")
    notice = page.locator("#notice")
    expect(notice).to_contain_text("1 planted leak was hidden to measure missed identifiers. It is not marked.")
    expect(notice).to_contain_text("Accept or reject it, then finish the review.")
    expect(chosen(page)).to_contain_text("Mario Rossi")
    expect(chosen(page)).to_contain_text("open · planted leak")
    expect(page.locator("#finish-rest")).to_be_hidden()
    assert "is-masked" not in (page.locator("#note").get_attribute("class") or "")
    assert axe(page) == []
    for key in ("Enter", "Shift+Enter"):
        press(page, key)
        expect(notice).to_contain_text("planted leak")
    assert Review.objects.get(document=scored.note).finished_at is None
    reload(page, "review")
    expect(chosen(page)).to_contain_text("Mario Rossi")
    saved(page, "a")
    press(page, "Enter")
    page.wait_for_url(f"**/review/{scored.run.pk}/{scored.notes[1].pk}/")
    page.wait_for_selector("html[data-review=ready]")
    assert gold(scored.note)[0] == ("PATIENT", "Mario Rossi")
    assert listed(page) == ["12/03/2021", "Torino", "Bianchi"]


def test_the_rest_beside_gold_needs_permission(scored: SimpleNamespace, page_of: Any, live: Any, axe: Any) -> None:
    start = TEXT.index("Mario")
    author = make.make_author(scored.project, kind="gold", name="gold")
    make.make_set(scored.note, author, [(start, start + 11, "PATIENT")], submitted=True)
    page = open_review(page_of(scored.rita), live, scored)
    expect(page.locator("#has-gold")).to_contain_text("This note already has gold")
    skipped = page.locator("#rest-skipped")
    expect(skipped).to_have_text(
        re.compile(r"“Accept the rest” skips \d open suggestions because this note already has gold\.")
    )
    number = page.locator("#rest-count").inner_text()
    expect(skipped).to_contain_text(f"skips {number} open")
    button = page.locator("#finish-rest")
    for _ in range(2):  # the first press shows hints, if there are any
        if not page.locator("#notice").is_visible():
            button.click()
    expect(page.locator("#notice")).to_contain_text("This note already has gold, so nothing was accepted")
    assert gold(scored.note) == [("PATIENT", "Mario Rossi")]
    assert axe(page) == []
    page.get_by_label("Let “Accept the rest” add to this gold").check()
    expect(skipped).to_have_text("")
    button.click()
    page.wait_for_url(f"**/{scored.notes[1].pk}/*")
    assert len(gold(scored.note)) == 4


# ── Review of a refined run in Chromium: what the refiner did and why, the filter, proposed removals ──


@pytest.fixture
def refined(world):
    vars(world).update(vars(refine(world.project, world.note)))
    return world


def test_keys_alone(refined, page_of, live):
    page = open_review(page_of(refined.rita), live, refined)
    assert listed(page) == ["Mario Rossi", "54 anni", "12/03/2021", "Torino"]
    expect(page.locator("#chosen")).to_contain_text("Kept by the refiner: A name after a title.")
    press(page, "a")
    # The proposed removal is selected next. It is struck, and its name for screen readers says what it is.
    expect(page.locator("#chosen-title")).to_have_text("Proposed removal")
    expect(page.locator("#chosen")).to_contain_text("The refiner proposes to remove this: No identifier here.")
    expect(chosen(page)).to_contain_text("proposed removal")
    span = page.locator("#note .span", has_text="54 anni")
    assert span.evaluate("node => getComputedStyle(node).textDecorationLine") == "line-through"
    expect(span).to_have_accessible_name("AGE, proposed removal")
    press(page, "a")
    expect(page.locator("#chosen")).to_contain_text("Before: 12 AGE")
    expect(page.locator("#chosen")).to_contain_text("Now: 12/03/2021 DATE")
    expect(page.locator("#chosen")).to_contain_text("Changed by the refiner: A whole date.")
    saved(page, "a", "x")
    assert [state.split(" · ")[0] for state in states(page)] == ["accepted", "removed", "accepted", "kept in gold"]
    assert gold(refined.note) == [("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("HOSPITAL", "Torino")]
    # What was removed is no hint of a missed identifier.
    assert "54 anni" not in page.locator("#hints").inner_text()
    saved(page, "u")
    assert gold(refined.note)[-1] == ("DATE", "12/03/2021")
    reload(page, "review")
    saved(page, "c")  # the key of CITY keeps the annotation with this label
    assert gold(refined.note)[-1] == ("CITY", "Torino")
    press(page, "Enter")
    page.wait_for_url(f"**/review/{refined.run.pk}/**")
    expect(page.get_by_role("heading", name="is reviewed")).to_be_visible()
    assert Review.objects.get(author=refined.run).finished_by == refined.rita
