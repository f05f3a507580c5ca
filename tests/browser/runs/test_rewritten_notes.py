"""Rewritten notes in Chromium: words in doubt in the review, and labels for unknown placeholders by keyboard."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from annotations.models import Span
from tests import factories as make
from tests.browser.widths import PHONE, fits

TEXT = "Mario Rossi, non diabetico, ha 54 anni. CF RSSMRA80A01H501U. Di Torino."


@pytest.fixture
def world(transactional_db):
    project = make.make_project("covid", name="Covid ward", language="it")
    mia, note = make.make_member(project, "manager", "mia"), make.make_note(project, TEXT, "lettera-7")
    author = make.make_author(project, kind="run", name="llm-1")
    made = make.make_set(note, author, [(0, 11, "PATIENT"), (31, 33, "AGE"), (64, 70, "CITY")], submitted=True)
    Span.objects.filter(annotation_set=made, start=0).update(
        provenance={"removed": [[13, 26]], "unsupported": [[0, 11]]}
    )
    Span.objects.filter(annotation_set=made, start=31).update(
        provenance={"removed": [], "unsupported": [], "places": 2}
    )
    return SimpleNamespace(mia=mia, note=note, author=author)


def test_the_review_shows_what_is_in_doubt(world, page_of):
    page = page_of(world.mia, "review", "covid", world.author.pk, world.note.pk, **PHONE)
    page.wait_for_selector("html[data-review=ready]")
    chosen = page.locator("#chosen")
    expect(chosen).to_contain_text("The model also removed these words: non diabetico")
    expect(chosen).to_contain_text("Nothing confirms that these words belong to the identifier: Mario Rossi")
    expect(page.locator("#suggestions").get_by_text("doubtful")).to_have_count(2)
    assert fits(page)
    page.keyboard.press("j")
    expect(chosen).to_contain_text("The model did not say which of 2 places with these words it means.")
    page.keyboard.press("j")
    expect(chosen).to_contain_text("Torino")
    expect(chosen).not_to_contain_text("Doubtful")
