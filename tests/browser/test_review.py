"""The review page in Chromium, by mouse, by keyboard alone, on a phone, offline, with two reviewers."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet, Decision, Event, Review, Role, Span, User, Verb
from tests import factories as make
from tests.browser.annotate.steps import click_text, drag, label_button, painted, place, press, saved
from tests.browser.conftest import session_cookie

TEXT = (
    "Paziente Mario Rossi, 54 anni, ricoverato il 12/03/2021 a Torino.\r\n"
    "\r\n"
    "Visto dal dott. Bianchi; controllo il 20/03/2021.\r\n"
    "Torna a casa.\r\n"
)
PROPOSED = [("Mario Rossi", "PATIENT"), ("12/03/2021", "DATE"), ("Torino", "HOSPITAL"), ("Bianchi", "DOCTOR")]


def propose(note: Any, run: Any, parts: list[tuple[str, str]] = PROPOSED) -> None:
    places = [(note.text.index(part), note.text.index(part) + len(part), label) for part, label in parts]
    reading = make.make_set(note, run, places, submitted=True)
    Span.objects.filter(annotation_set=reading).update(confidence=0.8, source="rule.of.mine")


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    rita, rosa = (make.make_member(project, Role.REVIEWER, name) for name in ("rita", "rosa"))
    run = make.make_author(project, kind="run", name="rules-1")
    notes = [make.make_note(project, TEXT, f"caso-00{number}", language="it") for number in (1, 2)]
    for note in notes:
        propose(note, run)
    return SimpleNamespace(project=project, rita=rita, rosa=rosa, run=run, notes=notes, note=notes[0])


@pytest.fixture
def opened(world: SimpleNamespace, page_of: Any, live: Any) -> Page:
    return open_review(page_of(world.rita), live, world)


def open_review(page: Page, live: Any, world: SimpleNamespace, note: Any = None) -> Page:
    page.goto(live("review", world.project.slug, world.run.pk, (note or world.note).pk))
    page.wait_for_selector("html[data-review=ready]")
    return page


def gold(note: Any) -> list[tuple[str, str]]:
    """(label, text) of the note's gold, from the database."""
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    found = rows.order_by("start", "end").values_list("start", "end", "label__name")
    return [(label, note.text[start:end]) for start, end, label in found]


def chosen(page: Page) -> Any:
    return page.locator("#proposals [aria-current=true]")


def act(page: Page, name: str) -> Any:
    """A button of the chosen proposal."""
    return page.locator(f"#chosen [data-act={name}]")


def states(page: Page) -> list[str]:
    return page.locator("#proposals .de-state").all_inner_texts()


def decided() -> int:
    return Event.objects.filter(verb__in=[Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE]).count()


# ── By mouse ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_by_mouse(opened: Page, world: SimpleNamespace) -> None:
    expect(chosen(opened)).to_contain_text("Mario Rossi")
    expect(opened.locator("#chosen")).to_contain_text("by rule.of.mine, confidence 80 %")
    act(opened, "accept").click()
    expect(chosen(opened)).to_contain_text("12/03/2021")
    act(opened, "reject").click()
    # The place is a city, not a hospital: another label accepts with it.
    expect(chosen(opened)).to_contain_text("Torino")
    label_button(opened, "CITY").click()
    expect(chosen(opened)).to_contain_text("Bianchi")
    # The doctor's title belongs to the name: the words are selected, and become the ends.
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
    opened.get_by_role("button", name="Close the note").click()
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    assert Review.objects.get().closed_by == world.rita
    assert AnnotationSet.objects.get(author__kind="gold").state == "submitted"


def test_provenance_is_kept_and_shown(opened: Page, world: SimpleNamespace) -> None:
    click_text(opened, "Torino")
    label_button(opened, "CITY").click()
    saved(opened)
    provenance = Span.objects.get(annotation_set__author__kind="gold").provenance
    assert provenance["from"] == "run:rules-1"
    assert (provenance["confidence"], provenance["source"], provenance["by"]) == (0.8, "rule.of.mine", "rita")
    assert provenance["changed"] == ["label"]
    click_text(opened, "Torino")
    expect(opened.locator("#chosen")).to_contain_text("HOSPITAL Torino")
    expect(opened.locator("#chosen")).to_contain_text(re.compile(r"Accepted by you, \d+ \w+ \d{4}, \d\d:\d\d"))
    expect(opened.locator("#chosen")).to_contain_text("In gold as CITY Torino")


def test_clicks_choose_and_undo_takes_back(opened: Page, world: SimpleNamespace) -> None:
    opened.locator("#proposals button", has_text="Bianchi").click()
    expect(opened.locator("#note .is-selected")).to_have_text("Bianchi")
    act(opened, "reject").click()
    expect(opened.locator("#note .is-rejected")).to_have_text("Bianchi")
    saved(opened)
    opened.get_by_role("button", name="Take back").click()
    expect(opened.locator("#note .is-rejected")).to_have_count(0)
    expect(chosen(opened)).to_contain_text("Bianchi")  # what was taken back is shown
    opened.get_by_role("button", name="Redo").click()
    expect(opened.locator("#note .is-rejected")).to_have_text("Bianchi")
    opened.get_by_role("button", name="Proposal before").click()
    expect(chosen(opened)).to_contain_text("Torino")
    opened.get_by_role("button", name="Next proposal").click()
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


def test_an_added_span_can_be_taken_out_again(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "Escape")
    drag(opened, "54 anni")
    assert opened.locator("#palette-ends").count() == 0, "no proposal is chosen"
    label_button(opened, "AGE").click()
    saved(opened)
    click_text(opened, "54 anni")
    expect(opened.locator("#chosen-title")).to_have_text("Chosen gold span")
    expect(opened.locator("#chosen")).to_contain_text("Added by you")
    opened.get_by_role("button", name="Take out of gold").click()
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


def test_ends_by_keys_and_by_the_selected_words(opened: Page, world: SimpleNamespace) -> None:
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


def test_moving_skipping_and_letting_go(opened: Page) -> None:
    press(opened, "j", "ArrowDown")
    expect(chosen(opened)).to_contain_text("Torino")
    press(opened, "a", "k", "k")
    expect(chosen(opened)).to_contain_text("12/03/2021")
    press(opened, " ")  # over the accepted one
    expect(chosen(opened)).to_contain_text("Bianchi")
    press(opened, " ")
    expect(chosen(opened)).to_contain_text("Mario Rossi")
    press(opened, "Escape")
    expect(opened.locator("#proposals [aria-current]")).to_have_count(0)
    press(opened, "a")  # on nothing: nothing
    press(opened, "Escape")
    assert opened.evaluate("document.activeElement.id") == "side"
    assert states(opened).count("open") == 3


def test_buttons_keep_the_focus_of_those_who_tab(opened: Page, world: SimpleNamespace) -> None:
    act(opened, "accept").focus()
    press(opened, "Enter", "Enter")
    saved(opened)
    expect(act(opened, "accept")).to_be_focused()
    assert [label for label, _ in gold(world.note)] == ["PATIENT", "DATE"]
    opened.locator("#proposals button").nth(3).focus()
    press(opened, " ")
    expect(opened.locator("#proposals button").nth(3)).to_be_focused()
    expect(chosen(opened)).to_contain_text("Bianchi")


def test_the_sheet_names_what_is_bound(opened: Page) -> None:
    press(opened, "?")
    sheet = opened.get_by_role("dialog", name="Keys")
    for words in ("Accept", "Reject", "Skip to the next open proposal", "Ctrl+Z", "Close the note", "PATIENT"):
        expect(sheet).to_contain_text(words)
    press(opened, "Escape")
    expect(sheet).to_be_hidden()


def test_n_and_p_go_to_the_neighbours_with_all_saved(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "n")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "p")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[0].pk}/")
    opened.wait_for_selector("html[data-review=ready]")
    expect(opened.locator("#notes [aria-current]")).to_have_text("begun:caso-001")
    opened.locator("#notes").get_by_role("link", name="caso-002").click()
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")


# ── Closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_with_open_proposals_does_not_close(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "Enter")
    expect(opened.locator("#told")).to_contain_text("3 proposals are still open")
    expect(chosen(opened)).to_contain_text("12/03/2021")
    saved(opened)
    assert Review.objects.get().closed_at is None


def test_the_last_note_ends_on_a_page_that_says_so_and_a_closed_one_can_be_reopened(
    opened: Page, world: SimpleNamespace
) -> None:
    for _ in world.notes:
        opened.wait_for_selector("html[data-review=ready]")
        press(opened, "x", "x", "x", "x")
        expect(opened.locator("#left")).to_have_text("4, none open")
        expect(opened.locator("#close")).to_have_class(re.compile("primary"))
        press(opened, "Enter")
        opened.wait_for_load_state()
        opened.wait_for_function("() => !document.querySelector('#close:disabled')")
    expect(opened.get_by_role("heading", name="rules-1 is reviewed")).to_be_visible()
    assert Review.objects.filter(found_empty=True).count() == 2
    opened.go_back()
    opened.goto(opened.url)
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "j", "a")
    expect(opened.locator("#told")).to_contain_text("closed")
    expect(act(opened, "accept")).to_be_disabled()
    opened.get_by_role("button", name="Reopen").click()
    opened.wait_for_selector("#workbench[data-state=draft]")
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "j", "a")
    saved(opened)
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_a_note_without_proposals(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    note = make.make_note(world.project, "Niente.\n", "vuota")
    make.make_set(note, world.run, [], submitted=True)
    page = open_review(page_of(world.rita), live, world, note)
    expect(page.locator("#chosen")).to_contain_text("This run proposed nothing here")
    press(page, "j", "k", "a", "x", "e", " ", "Enter")
    page.wait_for_url(re.compile(rf"/review/{world.run.pk}/{world.note.pk}/"))
    assert Review.objects.get(document=note).found_empty


# ── Saving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_offline_decisions_are_kept_and_sent_in_order(opened: Page, world: SimpleNamespace) -> None:
    opened.context.set_offline(True)
    press(opened, "a", "x", "c")
    expect(opened.locator("#save-state")).to_have_text("Offline, 3 waiting")
    press(opened, "k", "k", "a", "u")
    expect(opened.locator("#save-state")).to_have_text("Offline, 5 waiting")
    press(opened, "Enter")
    expect(opened.locator("#told")).to_contain_text("still open")
    assert decided() == 0
    opened.context.set_offline(False)
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("CITY", "Torino")]
    assert decided() == 5
    assert [label for label, _ in painted(opened)] == ["PATIENT", "DATE", "CITY", "DOCTOR"]


def test_a_lost_answer_doubles_nothing(opened: Page, world: SimpleNamespace) -> None:
    lost = []

    def lose_once(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)  # the server did it, but the page never hears
        route.abort()

    opened.route("**/decide", lose_once)
    press(opened, "a")
    expect(opened.locator("#save-state")).to_have_text("Offline, 1 waiting")
    saved(opened)
    assert lost == [200]
    assert (gold(world.note), decided()) == ([("PATIENT", "Mario Rossi")], 1)
    expect(opened.locator("#told")).not_to_contain_text("Somebody else")


def test_closing_offline_keeps_the_page(opened: Page, world: SimpleNamespace) -> None:
    press(opened, "a", "a", "a", "a")
    saved(opened)
    opened.context.set_offline(True)
    press(opened, "Enter")
    expect(opened.locator("#told")).to_contain_text("not closed")
    opened.context.set_offline(False)
    press(opened, "Enter")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")


def test_leaving_unsaved_decisions_warns(opened: Page) -> None:
    opened.context.set_offline(True)
    press(opened, "a")
    expect(opened.locator("#save-state")).to_contain_text("Offline")
    with opened.expect_event("dialog") as asked:
        opened.once("dialog", lambda dialog: dialog.dismiss())
        opened.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    opened.context.set_offline(False)
    saved(opened)


def test_nobody_decides_in_another_s_name(opened: Page, world: SimpleNamespace, live_server: Any) -> None:
    opened.context.clear_cookies()
    press(opened, "a")
    expect(opened.locator("#save-state")).to_have_text("Signed out, 1 waiting")
    opened.context.add_cookies([session_cookie(world.rosa, live_server.url)])
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    expect(opened.locator("#save-state")).to_have_text("Another person is signed in, 1 waiting")
    assert decided() == 0
    opened.context.add_cookies([session_cookie(world.rita, live_server.url)])
    opened.evaluate("window.dispatchEvent(new Event('online'))")
    saved(opened)
    assert Decision.objects.get().reviewer == world.rita


# ── Two reviewers ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.both_databases
def test_two_reviewers_lose_no_decision(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_review(page_of(world.rosa), live, world)
    press(opened, "a")
    saved(opened)
    # Rosa still sees it as open and rejects it: refused with a clear word, and she sees what is.
    press(other, "x")
    expect(other.locator("#told")).to_contain_text("Rita accepted this proposal meanwhile, so yours was not saved")
    expect(other.locator("#proposals .is-accepted")).to_contain_text("Mario Rossi")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    # They go on, each on what the other has not touched; each is told, and both hold the same in the end.
    press(other, "x")  # the date
    saved(other)
    press(opened, "j", "a")  # Torino
    expect(opened.locator("#told")).to_contain_text("Somebody else decided on this note meanwhile")
    saved(opened)
    other.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(other.locator("#proposals .is-accepted")).to_have_count(2)
    assert painted(other) == painted(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("HOSPITAL", "Torino")]
    # Having seen it, Rosa may decide otherwise; Rita's undo does not go over that.
    click_text(other, "Torino")
    press(other, "x")
    saved(other)
    press(opened, "u")
    expect(opened.locator("#told")).to_contain_text("Somebody has decided otherwise since")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]


@pytest.mark.both_databases
def test_closed_by_somebody_else(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    other = open_review(page_of(world.rosa), live, world)
    press(other, "a", "a", "a", "a", "Enter")
    other.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    press(opened, "x")
    expect(opened.locator("#told")).to_contain_text("review is closed")
    expect(opened.get_by_role("button", name="Reopen")).to_be_visible()
    expect(opened.locator("#close-form")).to_be_hidden()
    assert len(gold(world.note)) == 4


@pytest.mark.both_databases
def test_two_runs_meet_in_gold(opened: Page, world: SimpleNamespace, page_of: Any, live: Any) -> None:
    second = make.make_author(world.project, kind="run", name="rules-2")
    propose(world.note, second, [("Torino", "HOSPITAL"), ("54", "AGE")])
    press(opened, "j", "j", "a")
    saved(opened)
    world.run = second
    page = open_review(page_of(world.rosa), live, world)
    assert states(page) == ["open", "accepted"]
    click_text(page, "Torino")
    expect(page.locator("#chosen")).to_contain_text("In gold already, so there is nothing to decide: from run:rules-1")
    press(page, "x")
    expect(page.locator("#told")).to_contain_text("accepted this very span as rules-1 proposed it")
    assert gold(world.note) == [("HOSPITAL", "Torino")]


# ── Hostile text, access, small screens ──────────────────────────────────────────────────────────────────────────────

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
    propose(
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


def test_axe(opened: Page, axe: Any, world: SimpleNamespace) -> None:
    assert axe(opened) == []
    press(opened, "a", "x", "c")
    drag(opened, "54 anni")
    assert axe(opened) == []
    press(opened, "Escape", "Escape", "?")
    assert axe(opened) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(world: SimpleNamespace, page_of: Any, live: Any, axe: Any, scheme: str) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": scheme}
    page = open_review(page_of(world.rita, **options), live, world)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("accept", "reject"):
        expect(act(page, name)).to_be_in_viewport(ratio=1)
    for name in ("Next proposal", "Close the note", "Take back"):
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


@pytest.mark.parametrize("width", [390, 820])
def test_a_closed_note_on_small_screens(world: SimpleNamespace, page_of: Any, live: Any, axe: Any, width: int) -> None:
    page = open_review(page_of(world.rita, viewport={"width": width, "height": 844}), live, world)
    press(page, "a", "a", "a", "a", "Enter")
    page.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    page = open_review(page, live, world)
    for part in (page.get_by_role("button", name="Reopen"), page.locator("#reopen-form .primary")):
        expect(part).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == []


def test_no_text_in_any_address(opened: Page, world: SimpleNamespace) -> None:
    seen = []
    opened.on("request", lambda request: seen.append(request.url))
    press(opened, "a", "x", "c", "u")
    drag(opened, "54 anni")
    press(opened, "d")
    saved(opened)
    assert len(seen) >= 5
    assert not [url for url in seen if any(word in url for word in ("Rossi", "Torino", "anni")) and "static" not in url]


def test_a_reviewer_finds_the_way_from_the_runs_page(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    user = User.objects.get(username="rita")
    page = page_of(user)
    page.goto(live("runs", world.project.slug))
    page.get_by_role("link", name=re.compile("^Review .")).click()
    page.wait_for_selector("html[data-review=ready]")
    expect(page.get_by_role("heading", name="caso-001")).to_be_visible()
