"""A day's work from the sign-in page to the reopened note: by the keyboard alone, and by the mouse alone."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Comment, Flag, PersonalKey, Span
from tests import factories as make
from tests.browser.annotate.hands import Keys, Mouse
from tests.browser.annotate.steps import quotes, saved

TEXT = (
    "Nome: Mario Rossi, 54 anni.\r\n"
    "Ricoverato il 12/03/2021 presso Ospedale San\r\n"
    "Giovanni di Torino.\r\n"
    "Rossi torna; Rossi sta bene; parla Rossi.\r\n"
    "Visto dal dott. Bianchi.\r\n"
)
HOSPITAL = "Ospedale San\r\nGiovanni di Torino"
KEYS = {"PATIENT": "1", "DOCTOR": "2", "DATE": "d", "CITY": "c", "HOSPITAL": "h", "AGE": "y"}


@pytest.fixture
def covid(transactional_db: None) -> SimpleNamespace:
    guidelines = "# Names\n\nTitles stay outside.\n"
    project = make.make_project("covid", name="Covid ward", guidelines=guidelines, guidelines_version=1)
    ann = make.make_member(project, user="ann")
    texts = (TEXT, "Torna a casa.", "Dimesso Bianchi il 20/03/2021.")
    notes = [make.make_note(project, text, f"caso-00{n}", annotators=[ann]) for n, text in enumerate(texts, 1)]
    return SimpleNamespace(ann=ann, notes=notes)


@pytest.mark.nightly
@pytest.mark.parametrize("hand_of", [Keys, Mouse])
def test_from_signing_in_to_reopening(covid: SimpleNamespace, page_of: Any, live: Any, hand_of: Any) -> None:
    page: Page = page_of()
    hand = hand_of(page, KEYS)
    first, second, third = covid.notes

    def made() -> list[tuple[str, str]]:
        saved(page)
        return quotes(covid.ann, first)

    page.goto(live("account_login"))
    hand.fill("Username", "ann")
    hand.fill("Password", make.PASSWORD)
    hand.go("button", "Sign in")
    hand.go("link", "Covid ward")
    hand.go("link", "Start")
    is_open(page, first)
    # A key of one's own, from the sheet of keys, and back by the list of notes.
    hand.sheet()
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Next note")
    hand.go("link", "Change the keys of my labels")
    hand.fill("Key of AGE", "y")
    hand.go("button", "Save keys")
    expect(page.locator("#messages")).to_contain_text("Your keys are saved.")
    assert PersonalKey.objects.get().key == "y"
    hand.go("link", "Notes")
    hand.go("link", first.name)
    is_open(page, first)
    # Single, over a line break, nested, and two on the same words.
    for words, label in (("Mario Rossi", "PATIENT"), ("54 anni", "AGE"), ("12/03/2021", "DATE")):
        hand.select(words)
        hand.label(label)
    hand.let_go()
    hand.select(HOSPITAL.replace("\r", ""))
    hand.label("HOSPITAL")
    hand.let_go()
    hand.select("Torino")
    hand.label("CITY")
    hand.let_go()
    hand.select("dott. Bianchi")
    hand.label("DOCTOR")
    # Its end moves off the title.
    hand.move_start("Bianchi", 2)
    hand.let_go()
    all_six = [
        ("PATIENT", "Mario Rossi"),
        ("AGE", "54 anni"),
        ("DATE", "12/03/2021"),
        ("HOSPITAL", HOSPITAL),
        ("CITY", "Torino"),
        ("DOCTOR", "Bianchi"),
    ]
    assert made() == all_six
    # Picked where they lie on each other: relabeled, deleted, and all of that undone and done again.
    hand.pick("Torino", "HOSPITAL")
    hand.label("DOCTOR")
    assert made()[3] == ("DOCTOR", HOSPITAL)
    hand.delete()
    assert made() == all_six[:3] + all_six[4:]
    hand.undo()
    hand.undo()
    assert made() == all_six
    hand.redo()
    assert made()[3] == ("DOCTOR", HOSPITAL)
    hand.undo()
    # All mentions of a name but one; then a hit of the find bar is labeled.
    hand.let_go()
    hand.find("Rossi", step=1)
    hand.label("PATIENT")
    hand.other_mentions(without=2)
    mentions = [("PATIENT", "Rossi")] * 2
    assert made() == all_six[:5] + mentions + all_six[5:]
    # A word to others, on that span and on the note; what the project says of such a case.
    hand.comment("Is this he?")
    expect(page.locator("#threads .said")).to_have_text("Is this he?")
    hand.flag("I am not sure how to label it")
    expect(page.locator("#show-flag")).to_have_text("Flagged")
    hand.guidelines()
    expect(page.locator("#guide-body")).to_contain_text("Titles stay outside.")
    hand.guidelines()
    expect(page.locator("#guide")).to_be_hidden()
    assert (Comment.objects.count(), Flag.objects.count()) == (1, 1)
    # The same person in the other notes.
    hand.go("link", "Notes")
    hand.go("link", "Search")
    hand.fill("Search for", "bianchi")
    hand.go("button", "Search")
    expect(page.locator(".hits mark")).to_have_text(["Bianchi"] * 2)
    hand.go("link", third.name)
    is_open(page, third)
    hand.select("Bianchi")
    hand.label("DOCTOR")
    saved(page)
    assert quotes(covid.ann, third) == [("DOCTOR", "Bianchi")]
    # Back and submitted; the next note opens, and the one before is reopened.
    hand.previous_note()
    is_open(page, second)
    hand.previous_note()
    is_open(page, first)
    hand.let_go()
    hand.submit()
    is_open(page, second)
    expect(page.locator("#progress-text")).to_contain_text("1 of 3 done")
    hand.previous_note()
    is_open(page, first)
    hand.go("button", "Reopen to change the annotations")
    expect(page.locator("#submit")).to_be_visible()
    expect(page.locator("#progress-text")).to_contain_text("0 of 3 done")
    hand.undo()
    assert made() == all_six[:5] + mentions[:1] + all_six[5:]
    hand.next_note()
    is_open(page, second)
    assert Span.objects.count() == 8


def is_open(page: Page, note: Any) -> None:
    expect(page.locator("#note-name")).to_have_text(note.name)
    expect(page.locator("#note")).to_be_focused()
