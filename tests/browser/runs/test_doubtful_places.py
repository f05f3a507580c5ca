"""A language model's mention without a clear place, in Chromium: the review says why it is doubtful."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotations.models import Span
from tests import factories as make


@pytest.mark.parametrize("width", [1440, 390])
def test_the_review_says_why_a_place_is_doubtful(
    transactional_db: None, page_of: Any, live: Any, axe: Any, width: int
) -> None:
    project = make.make_project("covid", name="Covid ward", language="it")
    mia = make.make_member(project, "manager", "mia")
    note = make.make_note(project, "Mario Rossi, 54 anni, prende 54 mg.", "lettera-7")
    run = make.make_author(project, kind="run", name="llm-1")
    made = make.make_set(note, run, [(0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE")], submitted=True)
    doubt = {"removed": [], "unsupported": [], "places": 2}
    Span.objects.filter(annotation_set=made, start__gt=0).update(provenance=doubt)
    page = page_of(mia, viewport={"width": width, "height": 844})
    page.goto(live("review", "covid", run.pk, note.pk))
    page.wait_for_selector("html[data-review=ready]")
    chosen = page.locator("#chosen")
    expect(chosen).not_to_contain_text("Doubtful")
    page.keyboard.press("j")
    expect(chosen).to_contain_text(
        "The model did not say which of 2 places with these words it means. All are suggested."
    )
    expect(page.locator("#suggestions").get_by_text("doubtful")).to_have_count(2)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
