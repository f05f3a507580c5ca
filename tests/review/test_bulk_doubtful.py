"""Acts that decide on many suggestions skip doubtful ones, say so, and include them only on request."""

from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.models import BulkAct, Decision, Event, Span, SuggestedString
from annotations.review.events import REVIEW_BULK_DONE, REVIEW_DECIDED
from annotations.review.selectors import bulk_rules
from annotations.review.selectors.bulk_rules import waiting_by_string
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.reviewing import bulk_page, finish, gold_of, plan, review, start, suggested_world, suggestions

TEXT = "Mario Rossi, 54 anni, prende 54 mg. Lo visita Mario Rossi."
NAME, AGE, DOSE, AGAIN = (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE"), (46, 57, "PATIENT")
PLAIN = [NAME, AGAIN]
DOUBT = {"removed": [], "unsupported": [], "places": 2}


def make_ward() -> SimpleNamespace:
    """Two notes with the same suggestions of a run: two names, and an age of which the place is doubtful.

    Names of the first note have no provenance, those of the second have one without a doubt.
    """
    world = suggested_world(2, TEXT, llm_1=[NAME, AGE, DOSE, AGAIN])
    world.spans.filter(label__name="AGE").update(provenance=DOUBT)
    world.spans.filter(label__name="PATIENT", annotation_set__document=world.notes[1]).update(provenance={"from": 1})
    return world


made, ward = made_once(make_ward)


# ── Bulk acts ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("act", ["accept", "reject"])
def test_by_rule_doubtful_suggestions_are_skipped_and_counted(ward, act):
    """Suggestions without provenance are ordinary ones, and one that a person has decided is not counted."""
    review(ward.notes[0], ward.run, ward.rev, Act.REJECT, suggestions(ward.notes[0], ward.run)[1])
    bulk = plan(ward, act=act)
    assert f"Also {act} 3 doubtful suggestions" in bulk_page(ward, bulk)
    assert (bulk.planned, bulk.doubtful, bulk.skipped) == (4, 3, 0)
    start(ward, bulk)
    assert (bulk.state, bulk.decided, bulk.doubtful, bulk.left) == ("done", 4, 3, 0)
    assert [gold_of(note) for note in ward.notes] == [PLAIN if act == "accept" else []] * 2
    data = Event.objects.get(verb=REVIEW_BULK_DONE).data
    assert (data["doubtful"], data["rule"]["with_doubtful"]) == (3, False)
    assert '<dd id="doubtful">3</dd>' in bulk_page(ward, bulk)


def test_a_selected_box_includes_them_and_one_undo_restores_all(ward):
    bulk = start(ward, plan(ward), with_doubtful="1")
    assert (bulk.decided, bulk.doubtful, bulk.rule["with_doubtful"], bulk.rule["with_gold"]) == (8, 0, True, False)
    assert [gold_of(note) for note in ward.notes] == [[NAME, AGE, DOSE, AGAIN]] * 2
    assert 'id="doubtful"' not in bulk_page(ward, bulk)
    start(ward, bulk, "bulk_undo")
    assert [gold_of(note) for note in ward.notes] == [[], []] and not Decision.objects.exists()
    assert plan(ward).doubtful == 4


def test_the_box_is_required_if_all_suggestions_are_doubtful(ward):
    bulk = plan(ward, label=ward.labels["AGE"])
    html = bulk_page(ward, bulk)
    box = html.split('name="with_doubtful"')[1].split(">")[0]
    assert " required" in box and "> Accept </button>" in html
    assert start(ward, bulk).decided == 0
    assert start(ward, plan(ward, label=ward.labels["AGE"]), with_doubtful="1").decided == 4


def test_by_string_they_are_skipped_and_listed(ward):
    """Strings count suggestions without provenance as ordinary."""
    strings = list(SuggestedString.objects.values_list("string_key", "label_id"))
    found = waiting_by_string(strings, [ward.run.pk], ward.project, ward.rev)
    by_label = {label: (one.open, one.doubtful) for (_, label), one in found.items()}
    assert by_label == {ward.labels["PATIENT"]: (4, 0), ward.labels["AGE"]: (0, 4)}
    query = f"?run={ward.run.pk}"
    assert "and 4 doubtful" in check_page(ward.client.get(reverse("review_strings", args=["covid"]) + query))
    string = SuggestedString.objects.get(label_id=ward.labels["AGE"])
    here = reverse("review_string", args=["covid", string.pk]) + query
    page = ward.client.get(here)
    assert check_page(page).count('<span class="tag">doubtful</span>') == 4
    shown = [row.alias for row in page.context["rows"]]
    ward.client.post(here, {"act": "accept", "shown": shown, "tick": shown[1:]})
    bulk = BulkAct.objects.get()
    assert (bulk.planned, bulk.doubtful) == (0, 3)
    assert start(ward, bulk, with_doubtful="1").decided == 3


def test_in_a_note_with_gold_a_doubtful_suggestion_needs_both_boxes(ward):
    gold = make.make_author(ward.project, kind="gold", name="gold")
    make.make_set(ward.notes[0], gold, [], submitted=True)
    bulk = plan(ward)
    assert (bulk.planned, bulk.skipped, bulk.doubtful) == (2, 4, 2)
    for data, decided in (({"with_gold": "1"}, 4), ({"with_gold": "1", "with_doubtful": "1"}, 4)):
        assert start(ward, plan(ward), **data).decided == decided
    assert gold_of(ward.notes[0]) == [NAME, AGE, DOSE, AGAIN]


def test_a_batch_checks_doubt_under_its_locks(ward, monkeypatch):
    """The listing of a batch's suggestions is older than its locks."""
    all_open = bulk_rules.open_of
    spans = Span.objects.filter(annotation_set__author=ward.run)
    monkeypatch.setattr(bulk_rules, "open_of", lambda *known: all_open(*known) | spans)
    assert start(ward, plan(ward)).decided == 4
    assert [gold_of(note) for note in ward.notes] == [PLAIN, PLAIN]


# ── Accept the rest of a note ────────────────────────────────────────────────────────────────────────────────────────


def test_accepting_the_rest_leaves_doubtful_suggestions_unless_they_are_included(ward):
    note = ward.notes[0]
    rest = [span.pk for span in suggestions(note, ward.run)]
    answer = finish(ward, note, rest=rest)
    assert (answer.status, answer.json["error"]) == (409, "doubtful")
    assert gold_of(note) == [] and not Decision.objects.exists()
    assert finish(ward, note, rest=rest, with_doubtful=True).json["next"]
    assert gold_of(note) == [NAME, AGE, DOSE, AGAIN]
    decided = [event.data for event in Event.objects.filter(verb=REVIEW_DECIDED)]
    noted = {data["suggestion"]: data.get("with_doubtful", False) for data in decided}
    assert [noted[pk] for pk in rest] == [False, True, True, False]
