"""What a bulk act's preview says about precision: observed with an interval over notes, and expected by calibration."""

import io
import json
import re
import uuid

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.domain.reviewing.precision import Rate, by_notes
from annotations.models import Review, Span, SuggestedString
from annotations.review.selectors.ordering import Queue
from annotations.review.services import deciding as review
from annotations.review.services.deciding import Request
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import fresh
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT, make_world
from tests.worlds.programs import Program

NOTES = 6


def make_suggested():
    """A run over six notes: the patient with a confidence of 0.95, the city, wrongly as a hospital, with 0.91."""
    world = make_world()
    world.run = make.make_author(world.project, kind="run", name="crf-1")
    world.notes = [make.make_note(world.project, TEXT, patient_id=f"p{n}") for n in range(NOTES)]
    for note in world.notes:
        make.make_set(note, world.run, [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], submitted=True)
    rows = Span.objects.filter(annotation_set__author=world.run)
    rows.filter(start=0).update(confidence=0.95)
    rows.filter(start=44).update(confidence=0.91)
    make.list_for_review(world.run)
    return world


@pytest.fixture(scope="module")
def made_suggested(once):
    return once(make_suggested)


@pytest.fixture
def suggested(made_suggested, db):
    return fresh(made_suggested, make_suggested)


def read(world, at, order="note"):
    """Accept the patient and reject the hospital of a note, then finish its review in this order."""
    note = world.notes[at]
    for act, start in ((Act.ACCEPT, 0), (Act.REJECT, 44)):
        span = Span.objects.get(annotation_set__document=note, annotation_set__author=world.run, start=start)
        request = Request(change_id=uuid.uuid4(), act=act, suggestion=span.pk)
        review.decide(document=note, author=world.run, user=world.rev, request=request)
    finish_review(document=note, author=world.run, user=world.rev, queue=Queue(order))


def by_command(*words):
    out = io.StringIO()
    call_command("review_bulk", "covid", *words, "--preview", "--by", "rev", "--json", stdout=out)
    return json.loads(out.getvalue())["precision"]


def in_words(*words):
    out = io.StringIO()
    call_command("review_bulk", "covid", *words, "--preview", "--by", "rev", stdout=out)
    return out.getvalue()


def string_of(world):
    label = world.project.label_set.labels.get(code="HOSPITAL")
    return SuggestedString.objects.get(author=world.run, label_id=label.pk)


def page_of(world, client, **data):
    known = {"kind": "threshold", "runs": [world.run.pk], "least": "90", "agree": "2", "act": "accept"} | data
    answer = client.post(reverse("review_bulk_new", args=["covid"]), known)
    return " ".join(check_page(client.get(answer.url)).split())


def by_api(world, **data):
    known = {"kind": "threshold", "runs": [world.run.pk], "least": 90, "act": "accept"} | data
    return Program(world.rev).post("/projects/covid/bulk-acts", known).json()


def test_page_command_and_api_show_the_rate_with_an_interval_over_notes(suggested, sign_in):
    for at in range(4):
        read(suggested, at)
    counts = [(1, 2)] * 4
    found = by_command("--least", "90")
    assert (found["right"], found["checked"], found["notes"], found["only_drawn"]) == (4, 8, 4, False)
    assert (found["low"], found["high"]) == (by_notes(counts).low, by_notes(counts).high)
    assert found["high"] - found["low"] > Rate(4, 8).interval[1] - Rate(4, 8).interval[0]
    answer = by_api(suggested)
    assert answer["precision"] == found
    assert {row["label"]: (row["count"], row["right"], row["checked"], row["notes"]) for row in answer["expected"]} == {
        "PATIENT": (2, 4, 4, 4), "HOSPITAL": (2, 0, 4, 4),
    }  # fmt: skip
    html = page_of(suggested, sign_in(suggested.rev))
    assert "8 decisions in 4 notes" in html and "too few decisions" in html and "not calibrated" in html
    assert "4 of 8 decisions in 4 notes" in in_words("--least", "90")


def test_the_expected_precision_is_the_mean_calibrated_confidence_of_open_suggestions(suggested, sign_in):
    read(suggested, 0)
    assert by_command("--least", "90")["expected"] is None, "no confidence is calibrated"
    rows = Span.objects.filter(annotation_set__author=suggested.run)
    rows.filter(start=0).update(raw_confidence=0.99)
    found = by_command("--least", "90")
    assert (found["count"], found["calibrated"], found["expected"]) == (10, 5, pytest.approx(0.95))
    assert "95.0%, the mean calibrated confidence of 5 of 10 open suggestions" in in_words("--least", "90")
    client = sign_in(suggested.rev)
    assert "of 5 calibrated suggestions" in page_of(suggested, client)
    rows.update(raw_confidence=0.99)
    found = by_command("--least", "90")
    assert (found["calibrated"], found["expected"]) == (10, pytest.approx(0.93))
    html = page_of(suggested, client)
    assert re.findall("<span>(9[0-9]%)</span>", html) == ["93%", "95%", "91%"], "all labels, then each"
    assert [row["expected"] for row in by_api(suggested)["expected"]] == [pytest.approx(0.95), pytest.approx(0.91)]


def test_confidences_tell_nothing_about_another_label(suggested):
    Span.objects.filter(annotation_set__author=suggested.run).update(raw_confidence=0.99)
    string = str(string_of(suggested).pk)
    assert by_command("--string", string)["expected"] == pytest.approx(0.91)
    assert by_command("--string", string, "--as", "CITY")["expected"] is None
    assert by_command("--string", string, "--as", "HOSPITAL")["expected"] == pytest.approx(0.91)


@pytest.mark.parametrize("order", ["uncertainty", "false", "label"])
def test_only_notes_drawn_at_random_count_once_others_were_chosen_for_their_suggestions(suggested, sign_in, order):
    client = sign_in(suggested.rev)
    for at in range(2):
        read(suggested, at)
    assert by_command("--least", "90")["checked"] == 4 and 'id="only-drawn"' not in page_of(suggested, client)
    read(suggested, 2, order)
    assert Review.objects.get(document=suggested.notes[2]).drawn == Review.Drawn.ORDER
    found = by_command("--least", "90")
    assert (found["checked"], found["share"], found["only_drawn"]) == (0, None, True)
    html = page_of(suggested, client)
    assert "no such suggestion was decided in a note drawn at random" in html
    assert html.count("none of the decisions count") == 3 and "no decisions" not in html
    words = in_words("--least", "90")
    assert "none of the decisions count. Only notes drawn at random count" in words
    string = string_of(suggested)
    assert 'id="only-drawn"' in check_page(client.get(reverse("review_string", args=["covid", string.pk])))
    Review.objects.filter(document=suggested.notes[0]).update(drawn=Review.Drawn.CHANCE)
    found = by_command("--least", "90")
    assert (found["right"], found["checked"], found["notes"]) == (1, 2, 1)
    assert "Only notes that were drawn at random count" in page_of(suggested, client)
    assert by_api(suggested)["precision"] == found


def test_the_order_most_to_learn_counts_its_random_notes(suggested):
    for _ in range(NOTES - 1):
        note = Program(suggested.rev).get(f"/projects/covid/reviews/{suggested.run.pk}/next?order=informative").json()
        read(suggested, [one.pk for one in suggested.notes].index(note["note"]), "informative")
    drawn = Review.objects.filter(drawn=Review.Drawn.CHANCE).count()
    found = by_command("--least", "90")
    assert 0 < drawn < NOTES - 1 and (found["notes"], found["only_drawn"]) == (drawn, True)


def test_decisions_count_when_the_review_of_their_note_is_finished(suggested, sign_in):
    read(suggested, 0)
    span = Span.objects.get(annotation_set__document=suggested.notes[1], annotation_set__author=suggested.run, start=44)
    request = Request(change_id=uuid.uuid4(), act=Act.REJECT, suggestion=span.pk)
    review.decide(document=suggested.notes[1], author=suggested.run, user=suggested.rev, request=request)
    found = by_command("--least", "90")
    assert (found["right"], found["checked"], found["notes"]) == (1, 2, 1)
    assert (found["low"], found["high"]) == (0, 1), "one note says nothing about the others"
    assert "1 of 2 decisions in 1 note." in in_words("--least", "90")
    assert "too few such decisions or notes" in page_of(suggested, sign_in(suggested.rev))
    reopen_review(document=suggested.notes[0], author=suggested.run, user=suggested.rev)
    assert by_command("--least", "90")["checked"] == 0
    assert "no decisions in finished reviews" in in_words("--least", "90")
    assert page_of(suggested, sign_in(suggested.rev)).count("no decisions in finished reviews") == 3
