"""What a bulk act's preview says about precision: observed with an interval over notes, and expected by calibration."""

import re

import pytest
from django.urls import reverse

from annotations.models import Review, Span, SuggestedString
from annotations.review.rules.precision import Rate, by_notes
from annotations.review.selectors.reviewing import NoteOrder
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.programs import Program
from tests.worlds.reviewing import bulk_page, plan, review, suggested_world, suggestions

NOTES = 6


def make_suggested():
    """A run over six notes: the patient with a confidence of 0.95, the city, wrongly as a hospital, with 0.91."""
    world = suggested_world(NOTES, crf_1=[(0, 11, "PATIENT"), (44, 50, "HOSPITAL")])
    world.spans.filter(start=44).update(confidence=0.91)
    make.list_for_review(world.run)
    return world


made, suggested = made_once(make_suggested)


def read(world, at, order="note"):
    """Accept the patient and reject the hospital of a note, then finish its review in this order."""
    note = world.notes[at]
    for act, span in zip((Act.ACCEPT, Act.REJECT), suggestions(note, world.run), strict=True):
        review(note, world.run, world.rev, act, span)
    finish_review(document=note, author=world.run, user=world.rev, queue=NoteOrder(order))


def by_command(*words):
    return answered("review_bulk", "covid", *(words or ("--least", "90")), "--preview", "--by", "rev")["precision"]


def string_of(world):
    return SuggestedString.objects.get(author=world.run, label_id=world.labels["HOSPITAL"])


def page_of(world):
    return " ".join(bulk_page(world, plan(world)).split())


def by_api(world):
    known = {"kind": "threshold", "runs": [world.run.pk], "least": 90, "act": "accept"}
    return Program(world.rev).post("/projects/covid/bulk-acts", known).json()


def test_page_command_and_api_show_the_rate_with_an_interval_over_notes(suggested):
    for at in range(4):
        read(suggested, at)
    found, over_notes = by_command(), by_notes([(1, 2)] * 4)
    assert (found["right"], found["checked"], found["notes"], found["only_drawn"]) == (4, 8, 4, False)
    assert (found["low"], found["high"]) == (over_notes.low, over_notes.high)
    assert found["high"] - found["low"] > Rate(4, 8).interval[1] - Rate(4, 8).interval[0]
    answer = by_api(suggested)
    assert answer["precision"] == found
    assert {row["label"]: (row["count"], row["right"], row["checked"], row["notes"]) for row in answer["expected"]} == {
        "PATIENT": (2, 4, 4, 4), "HOSPITAL": (2, 0, 4, 4)
    }  # fmt: skip
    html = page_of(suggested)
    assert "8 decisions in 4 notes" in html and "too few decisions" in html and "not calibrated" in html


def test_the_expected_precision_is_the_mean_calibrated_confidence_of_open_suggestions(suggested):
    read(suggested, 0)
    assert by_command()["expected"] is None, "no confidence is calibrated"
    rows = Span.objects.filter(annotation_set__author=suggested.run)
    rows.filter(start=0).update(raw_confidence=0.99)
    found = by_command()
    assert (found["count"], found["calibrated"], found["expected"]) == (10, 5, pytest.approx(0.95))
    rows.update(raw_confidence=0.99)
    found = by_command()
    assert (found["calibrated"], found["expected"]) == (10, pytest.approx(0.93))

    assert re.findall("<span>(9[0-9]%)</span>", page_of(suggested)) == ["93%", "95%", "91%"], "all labels, then each"
    # They tell nothing about another label.
    string = str(string_of(suggested).pk)
    for words, expected in (((), 0.91), (("--as", "CITY"), None), (("--as", "HOSPITAL"), 0.91)):
        assert by_command("--string", string, *words)["expected"] == (expected and pytest.approx(expected))


@pytest.mark.parametrize("order", ["uncertainty", "false", "label"])
def test_only_notes_drawn_at_random_count_once_others_were_chosen_for_their_suggestions(suggested, order):
    for at in range(2):
        read(suggested, at)
    assert by_command()["checked"] == 4 and 'id="only-drawn"' not in page_of(suggested)
    read(suggested, 2, order)
    assert Review.objects.get(document=suggested.notes[2]).drawn == Review.Drawn.ORDER
    found = by_command()
    assert (found["checked"], found["share"], found["only_drawn"]) == (0, None, True)
    html = page_of(suggested)
    assert html.count("none of the decisions count") == 3 and "no decisions" not in html

    string = reverse("review_string", args=["covid", string_of(suggested).pk])
    assert 'id="only-drawn"' in check_page(suggested.client.get(string))
    Review.objects.filter(document=suggested.notes[0]).update(drawn=Review.Drawn.CHANCE)
    found = by_command()
    assert (found["right"], found["checked"], found["notes"]) == (1, 2, 1)
    assert "Only notes that were drawn at random count" in page_of(suggested)


def test_decisions_count_when_the_review_of_their_note_is_finished(suggested):
    read(suggested, 0)
    note = suggested.notes[1]
    review(note, suggested.run, suggested.rev, Act.REJECT, suggestions(note, suggested.run)[1])
    found = by_command()
    assert (found["right"], found["checked"], found["notes"]) == (1, 2, 1)
    assert (found["low"], found["high"]) == (0, 1), "one note says nothing about the others"

    assert "too few such decisions or notes" in page_of(suggested)
    reopen_review(document=suggested.notes[0], author=suggested.run, user=suggested.rev)
    assert by_command()["checked"] == 0

    assert page_of(suggested).count("no decisions in finished reviews") == 3
