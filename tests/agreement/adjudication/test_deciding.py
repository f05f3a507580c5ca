"""Adjudication: what is shown, decided, undone and refused."""

import json
import uuid
from functools import partial

import pytest

from annotations.agreement.events import ADJUDICATION_DECIDED
from annotations.agreement.services.deciding import decide
from annotations.agreement.services.plan import Act, Request
from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Event, Resolution, Span
from tests import factories as make
from tests.worlds.adjudicated import (
    AGE,
    CITY,
    DATE,
    DOCTOR,
    NAME,
    act,
    location_at,
    location_states,
    outcome,
    own,
    provenance,
    refused,
    seen,
    state,
    unanimous,
)

# ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_locations_consensus_and_majority(world):
    found = state(world)
    assert [(p["start"], p["end"], p["consensus"], p["state"]) for p in found["locations"]] == [
        (*NAME, "majority", "open"), (*AGE, "one", "open"), (*DATE, "all", "agreed"), (*CITY, "split", "open")
    ]  # fmt: skip
    assert [each["name"] for each in found["annotators"]] == ["anna", "bruno", "carla"]
    assert found["locations"][0]["majority"] == [(*NAME, world.label["PATIENT"])]
    assert found["locations"][1]["majority"] == []  # two of three say nothing
    assert found["locations"][3]["majority"] is None
    assert (found["open"], found["finished"], found["ready"]) == (4, False, True)


# ── Acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_act_and_its_provenance(world):
    act(world, "majority", NAME)
    how = provenance(world, NAME)
    assert (how["choice"], how["by"], how["changed"]) == ("majority", "rita", [])
    assert how["annotators"] == [world.annotation_sets["anna"].author_id, world.annotation_sets["bruno"].author_id]
    act(world, "annotator", CITY, annotator=2)
    assert provenance(world, CITY)["annotators"] == [world.annotation_sets["bruno"].author_id]
    assert Resolution.objects.get(start=CITY[0]).author == world.annotation_sets["bruno"].author_id
    assert own(world, CITY, "CITY")["open"] == 2  # decided otherwise
    act(world, "nothing", AGE)
    unanimous(world)
    assert provenance(world, DATE)["choice"] == "unanimous"
    assert len(provenance(world, DATE)["annotators"]) == 3
    own(world, DOCTOR, "DOCTOR")
    assert provenance(world, DOCTOR)["changed"] == ["added"]
    assert outcome(world) == [
        ("PATIENT", "Mario Rossi"), ("DATE", "12/03/2021"), ("CITY", "Torino"), ("DOCTOR", "Bianchi")
    ]  # fmt: skip
    assert state(world)["open"] == 0


@pytest.mark.parametrize(("span", "label", "changed"), [
    (CITY, "DATE", ["label"]), ((44, 54), "CITY", ["bounds"]), ((44, 54), "AGE", ["bounds", "label"]),
    ((41, 54), "CITY", ["bounds"]),  # it touches the date, and overlaps the city alone
    (DOCTOR, "DOCTOR", ["added"]),
])  # fmt: skip
def test_what_an_own_span_changed(world, span, label, changed):
    own(world, span, label)
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["changed"] == changed


def test_an_own_span_over_two_locations_decides_both(world):
    own(world, (6, 15), "PATIENT")
    assert outcome(world) == [("PATIENT", "Rossi, 54")]
    assert location_states(world)[0] == (0, "decided")
    assert len(state(world)["locations"]) == 3


def test_dropping_a_span_and_deciding_for_nothing(world):
    answer = own(world, DOCTOR, "DOCTOR")
    act(world, "drop", DOCTOR, span=(*DOCTOR, world.label["DOCTOR"]))
    assert outcome(world) == []
    assert not any(each["start"] == DOCTOR[0] for each in state(world)["locations"]), "nobody marks anything there"
    assert answer["open"] == 4
    act(world, "annotator", CITY, annotator=1)
    act(world, "drop", CITY, span=(*CITY, world.label["CITY"]))
    assert Resolution.objects.get().choice == "nothing"


def test_undo_and_redo_without_limit(world):
    seen_states = [outcome(world)]
    for does in (
        lambda: act(world, "majority", NAME), lambda: unanimous(world),
        lambda: act(world, "annotator", CITY, annotator=1), lambda: own(world, CITY, "HOSPITAL"),
        lambda: act(world, "nothing", AGE),
    ):  # fmt: skip
        does()
        seen_states.append(outcome(world))
    for expected in reversed(seen_states[:-1]):
        act(world, "undo")
        assert outcome(world) == expected
    with pytest.raises(ServiceError, match="Nothing to undo"):
        act(world, "undo")
    for expected in seen_states[1:]:
        act(world, "redo")
        assert outcome(world) == expected
    act(world, "undo")
    own(world, AGE, "AGE")
    with pytest.raises(ServiceError, match="Nothing to redo"):
        act(world, "redo")
    said = json.dumps([event.data for event in Event.objects.all()])
    assert not any(word in said for word in ("Mario", "Rossi", "Torino", "Bianchi"))


def test_what_changes_nothing_is_no_act(world):
    for _ in range(2):
        act(world, "majority", NAME)
        own(world, CITY, "CITY")
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 2


# ── Two at once, replays, what is no longer so ───────────────────────────────────────────────────────────────────────


def test_a_replay_is_made_once(world):
    change = {"about": [location_at(world, NAME)], "change_id": uuid.uuid4()}
    first = act(world, "majority", **change)
    assert act(world, "majority", **change) == first
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 1
    assert refused(world, "nothing", **change) == "change-id"


def test_two_adjudicators_at_one_location(world):
    shown = [location_at(world, CITY)]
    act(world, "annotator", CITY, annotator=1, user=world.rosa)
    assert refused(world, "annotator", about=shown, annotator=2) == "moved"
    assert outcome(world) == [("CITY", "Torino")]
    act(world, "majority", NAME)  # Another location is free.
    assert refused(world, "undo", user=world.anna) == "nothing"  # Everybody undoes only their own acts.
    act(world, "annotator", CITY, annotator=2)
    assert refused(world, "undo", user=world.rosa) == "moved"  # rita has decided otherwise since


def test_acts_that_are_refused(world):
    """Among them an act on a location whose annotations changed after the page was loaded."""
    with pytest.raises(ServiceError) as error:
        own(world, CITY, "CITY", about=[])
    assert error.value.code == "moved", "the span is over a location that was not seen"
    assert refused(world, "majority", CITY) == "tie"
    assert refused(world, "annotator", CITY, annotator=7) == "annotator"
    shown = [location_at(world, NAME)]
    make.make_span(world.annotation_sets["carla"], *NAME, "DOCTOR")
    assert refused(world, "majority", about=shown) == "moved"


@pytest.mark.parametrize(("changes", "code"), [
    ({"quote": "Milano"}, "quote"), ({"span": (44, 9_999, 1)}, "label"), ({"span": (44, 44, 0), "quote": ""}, "empty"),
    ({"span": (68, 999, 0), "quote": "x"}, "outside"), ({"span": (43, 44, 0), "quote": " "}, "white"),
])  # fmt: skip
def test_own_spans_that_are_refused(world, changes, code):
    start, end, label = changes.get("span", (*CITY, 0))
    span, quote = (start, end, world.label["CITY"] if label == 0 else 0), changes.get("quote", "Torino")
    assert refused(world, "own", about=[location_at(world, CITY)], span=span, quote=quote) == code


# ── At one moment, with real connections ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_acts_at_the_same_moment_take_turns(world, at_once):
    """Two adjudicators decide one location: one succeeds, the other is refused. A change sent twice is made once."""
    shown = {name: (seen(location_at(world, bounds)),) for name, bounds in (("city", CITY), ("name", NAME))}
    change = uuid.uuid4()

    def made(user, request):
        try:
            decide(project=world.project, document=world.note, user=user, request=request)
        except ServiceError as error:
            return error.code
        return "made"

    results = at_once(
        partial(made, world.rita, Request(uuid.uuid4(), Act.ANNOTATOR, shown["city"], annotator=1)),
        partial(made, world.rosa, Request(uuid.uuid4(), Act.ANNOTATOR, shown["city"], annotator=2)),
        *[partial(made, world.rita, Request(change, Act.MAJORITY, shown["name"])) for _ in range(2)],
    )
    assert (sorted(results[:2]), results[2:]) == (["made", "moved"], ["made", "made"])
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 2
    assert len(outcome(world)) == 2
    assert AnnotationSet.objects.get(author__kind="adjudicated").version == 2
