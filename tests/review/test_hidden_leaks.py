"""Planted leaks stay hidden: no list, count, hint or bulk act reveals them."""

from annotations.models import BulkAct, Decision, PlantedLeak, Span, SuggestedString
from annotations.review.selectors.bulk_rules import BulkRule, open_of, preview, waiting_by_string
from annotations.review.selectors.planted import hints_of
from annotations.review.selectors.reviewing import NoteOrder
from annotations.review.selectors.state import review_state
from annotations.review.selectors.suggested_strings import occurrences, spans_of, strings
from annotations.review.services.bulk import at_once, begin_bulk, decide_batch, plan_bulk, run_bulk
from annotations.review.services.log import Act
from annotations.review.services.queue import next_in_queue
from tests.review.planting import CITY, DOCTOR, NAME, first_drawn, made, planted, world
from tests.worlds.checks import refused
from tests.worlds.reviewing import check_strings

__all__ = ["first_drawn", "made", "planted", "world"]


def accept_in_bulk(world, rule, **options):
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rosa, **options)
    at_once(bulk, run_bulk)
    return bulk


def test_lists_counts_hints_and_bulk_acts_leave_hidden_leaks_out(world):
    world.store()
    hidden = world.suggestion(NAME)
    rule = BulkRule("string", [world.run.pk], string=hidden.string_key, label=hidden.label_id)
    assert open_of(rule, world.project, world.rosa).count() == 2
    string = SuggestedString.objects.get(author=world.run, label_id=hidden.label_id)
    shown = occurrences(spans_of(string, [world.run.pk]), world.project.pk, world.rosa)
    assert [one.note for one in shown] == [note.pk for note in world.notes[1:]]
    (row,) = strings([world.run.pk], label=hidden.label_id).rows
    assert (row.count, row.open) == (2, 2)
    assert not [hint for hint in hints_of(world.note, world.run) if hint["start"] == NAME]
    assert len(hints_of(world.notes[1], world.run)) == 3
    # The review of the other run shows the suggestion, which is hidden only in this run.
    assert len(review_state(document=world.note, author=world.other)["suggestions"]) == 3
    threshold, agreed = (
        BulkRule("threshold", [world.run.pk], least=0.5),
        BulkRule("agreed", [world.run.pk, world.other.pk]),
    )
    for each in (rule, threshold):
        accept_in_bulk(world, each)
    # A hidden suggestion of one run does not count as agreement.
    with refused("none"):
        plan_bulk(project=world.project, user=world.rosa, rule=agreed, act=BulkAct.Act.ACCEPT)
    assert not Decision.objects.filter(suggestion=hidden).exists()
    assert Decision.objects.filter(suggestion__annotation_set__author=world.run).count() == 8
    check_strings()


def test_agreement_of_runs_does_not_count_hidden_leaks(world):
    agreed = BulkRule("agreed", [world.run.pk, world.other.pk], label=world.suggestion(NAME).label_id)
    assert open_of(agreed, world.project, world.rosa).count() == 6
    world.store()
    assert open_of(agreed, world.project, world.rosa).count() == 4, (
        "counting the other run's span would reveal the hidden one"
    )


def test_a_bulk_act_planned_earlier_leaves_hidden_leaks_alone(world):
    hidden = world.suggestion(NAME)
    rule = BulkRule("threshold", [world.run.pk], least=0.5)
    bulk = plan_bulk(project=world.project, user=world.rosa, rule=rule, act=BulkAct.Act.ACCEPT)
    pairs = [(world.note.pk, span.pk) for span in hidden.annotation_set.spans.all()]
    world.store()
    assert decide_batch(bulk, pairs) == {"decided": 2, "beside": 0, "conflicts": 0}
    assert not Decision.objects.filter(suggestion=hidden).exists()


def test_a_hidden_leak_can_not_be_decided_by_its_id(world):
    world.store()
    for act in (Act.ACCEPT, Act.REJECT):
        # As if the suggestion did not exist.
        with refused("suggestion"):
            world.decide(world.rita, act, NAME)
    with refused("open"):
        world.finish(world.rita)
    assert PlantedLeak.objects.get().result == "", "refused finishing reveals nothing"


def test_a_note_with_nothing_else_open_is_still_offered(world):
    world.plant_in(*world.notes)
    for note in world.notes:
        world.store(note)
        for start in (CITY, DOCTOR):
            world.decide(world.rita, Act.ACCEPT, start, note)
    for order in ("note", "uncertainty"):
        assert next_in_queue(world.run, world.project, NoteOrder(order), world.rita) == world.note.pk


def test_counts_of_doubtful_suggestions_leave_hidden_leaks_out(world):
    hidden = world.suggestion(NAME)
    world.store()
    Span.objects.update(provenance={"removed": [], "unsupported": [], "places": 2})
    rule = BulkRule("threshold", [world.run.pk], least=0.5)
    found = preview(rule, BulkAct.Act.ACCEPT, world.project, world.rosa)
    assert (found.open, found.doubtful) == (0, 8)
    name = hidden.string_key, hidden.label_id
    assert waiting_by_string([name], [world.run.pk], world.project, world.rosa)[name].doubtful == 2
    bulk = accept_in_bulk(world, rule, with_doubtful=True)
    assert not Decision.objects.filter(suggestion=hidden).exists() and bulk.decided == 8
