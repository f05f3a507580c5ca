"""Adjudication: what is shown, decided, undone and refused."""

import json
import uuid
from functools import partial

import pytest

from annotations.agreement.events import ADJUDICATION_DECIDED
from annotations.agreement.services import plan
from annotations.agreement.services.deciding import decide, decide_many
from annotations.agreement.services.plan import Act, Request
from annotations.core.services import ServiceError
from annotations.models import AnnotationSet, Event, Resolution, Span
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.worlds import adjudicated
from tests.worlds.beside import Beside
from tests.worlds.checks import refused

# ── Acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("span", "label", "changed"), [
    (adjudicated.CITY, "DATE", ["label"]), ((44, 54), "CITY", ["bounds"]), ((44, 54), "AGE", ["bounds", "label"]),
    ((41, 54), "CITY", ["bounds"]),  # it touches the date, and overlaps the city alone
    (adjudicated.DOCTOR, "DOCTOR", ["added"]),
])  # fmt: skip
def test_what_an_own_span_changed(world, span, label, changed):
    adjudicated.own(world, span, label)
    assert Span.objects.get(annotation_set__author__kind="adjudicated").provenance["changed"] == changed


def test_an_own_span_over_two_locations_decides_both(world):
    adjudicated.own(world, (6, 15), "PATIENT")
    assert adjudicated.outcome(world) == [("PATIENT", "Rossi, 54")]
    assert adjudicated.location_states(world)[0] == (0, "decided")
    assert len(adjudicated.state(world)["locations"]) == 3


def test_dropping_a_span_and_deciding_for_nothing(world):
    answer = adjudicated.own(world, adjudicated.DOCTOR, "DOCTOR")
    adjudicated.act(world, "drop", adjudicated.DOCTOR, span=(*adjudicated.DOCTOR, world.label["DOCTOR"]))
    assert adjudicated.outcome(world) == []
    assert not any(each["start"] == adjudicated.DOCTOR[0] for each in adjudicated.state(world)["locations"]), (
        "nobody marks anything there"
    )
    assert answer["open"] == 4
    adjudicated.act(world, "annotator", adjudicated.CITY, annotator=1)
    adjudicated.act(world, "drop", adjudicated.CITY, span=(*adjudicated.CITY, world.label["CITY"]))
    assert Resolution.objects.get().choice == "nothing"


def test_undo_and_redo_without_limit(world):
    seen_states = [adjudicated.outcome(world)]
    for does in (
        lambda: adjudicated.act(world, "majority", adjudicated.NAME), lambda: adjudicated.unanimous(world),
        lambda: adjudicated.act(world, "annotator", adjudicated.CITY, annotator=1),
        lambda: adjudicated.own(world, adjudicated.CITY, "HOSPITAL"),
        lambda: adjudicated.act(world, "nothing", adjudicated.AGE),
    ):  # fmt: skip
        does()
        seen_states.append(adjudicated.outcome(world))
    for expected in reversed(seen_states[:-1]):
        adjudicated.act(world, "undo")
        assert adjudicated.outcome(world) == expected
    with pytest.raises(ServiceError, match="Nothing to undo"):
        adjudicated.act(world, "undo")
    for expected in seen_states[1:]:
        adjudicated.act(world, "redo")
        assert adjudicated.outcome(world) == expected
    adjudicated.act(world, "undo")
    adjudicated.own(world, adjudicated.AGE, "AGE")
    with pytest.raises(ServiceError, match="Nothing to redo"):
        adjudicated.act(world, "redo")
    said = json.dumps([event.data for event in Event.objects.all()])
    assert not any(word in said for word in ("Mario", "Rossi", "Torino", "Bianchi"))


def test_what_changes_nothing_is_no_act(world):
    for _ in range(2):
        adjudicated.act(world, "majority", adjudicated.NAME)
        adjudicated.own(world, adjudicated.CITY, "CITY")
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 2


# ── Two at once, replays, what is no longer so ───────────────────────────────────────────────────────────────────────


def test_a_replay_is_made_once(world):
    change = {"about": [adjudicated.location_at(world, adjudicated.NAME)], "change_id": uuid.uuid4()}
    first = adjudicated.act(world, "majority", **change)
    assert adjudicated.act(world, "majority", **change) == first
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 1
    assert adjudicated.refused(world, "nothing", **change) == "change-id"


def test_two_adjudicators_at_one_location(world):
    shown = [adjudicated.location_at(world, adjudicated.CITY)]
    adjudicated.act(world, "annotator", adjudicated.CITY, annotator=1, user=world.rosa)
    assert adjudicated.refused(world, "annotator", about=shown, annotator=2) == "moved"
    assert adjudicated.outcome(world) == [("CITY", "Torino")]
    adjudicated.act(world, "majority", adjudicated.NAME)  # Another location is free.
    assert adjudicated.refused(world, "undo", user=world.anna) == "nothing"  # Everybody undoes only their own acts.
    adjudicated.act(world, "annotator", adjudicated.CITY, annotator=2)
    assert adjudicated.refused(world, "undo", user=world.rosa) == "moved"  # rita has decided otherwise since


def test_acts_that_are_refused(world):
    """Among them an act on a location whose annotations changed after the page was loaded."""
    # The span is over a location that was not seen.
    with refused("moved"):
        adjudicated.own(world, adjudicated.CITY, "CITY", about=[])
    assert adjudicated.refused(world, "majority", adjudicated.CITY) == "tie"
    assert adjudicated.refused(world, "annotator", adjudicated.CITY, annotator=7) == "annotator"
    shown = [adjudicated.location_at(world, adjudicated.NAME)]
    make.make_span(world.annotation_sets["carla"], *adjudicated.NAME, "DOCTOR")
    assert adjudicated.refused(world, "majority", about=shown) == "moved"


@pytest.mark.parametrize(("changes", "code"), [
    ({"quote": "Milano"}, "quote"), ({"span": (44, 9_999, 1)}, "label"), ({"span": (44, 44, 0), "quote": ""}, "empty"),
    ({"span": (68, 999, 0), "quote": "x"}, "outside"), ({"span": (43, 44, 0), "quote": " "}, "white"),
])  # fmt: skip
def test_own_spans_that_are_refused(world, changes, code):
    start, end, label = changes.get("span", (*adjudicated.CITY, 0))
    span, quote = (start, end, world.label["CITY"] if label == 0 else 0), changes.get("quote", "Torino")
    assert (
        adjudicated.refused(
            world, "own", about=[adjudicated.location_at(world, adjudicated.CITY)], span=span, quote=quote
        )
        == code
    )


# ── At one moment, with real connections ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_acts_at_the_same_moment_take_turns(world, at_once):
    """Two adjudicators decide one location: one succeeds, the other is refused. A change sent twice is made once."""
    shown = {
        name: (adjudicated.seen(adjudicated.location_at(world, bounds)),)
        for name, bounds in (("city", adjudicated.CITY), ("name", adjudicated.NAME))
    }
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
    assert len(adjudicated.outcome(world)) == 2
    assert AnnotationSet.objects.get(author__kind="adjudicated").version == 2


@pytest.mark.django_db(transaction=True)
def test_an_own_span_while_its_label_is_merged(world, monkeypatch):
    """No decision keeps the merged label, and neither of the two fails."""
    labels = world.project.label_set.labels
    source, target = labels.get(name="CITY"), labels.get(name="HOSPITAL")
    merge, planned = Beside(lambda: merge_labels(source=source, target=target, actor=None)), plan.plan

    def with_merge(*arguments):
        made = planned(*arguments)
        merge.begin()
        return made

    monkeypatch.setattr(plan, "plan", with_merge)
    adjudicated.own(world, adjudicated.DOCTOR, "CITY")
    merge.join()
    assert merge.error is None and not Span.objects.filter(label=source).exists()


# ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_acts_of_a_batch_have_their_own_outcomes(world):
    locations = {
        name: adjudicated.location_at(world, at)
        for name, at in (("name", adjudicated.NAME), ("city", adjudicated.CITY))
    }
    first = Request(uuid.uuid4(), Act.MAJORITY, (adjudicated.seen(locations["name"]),))
    tie = Request(uuid.uuid4(), Act.MAJORITY, (adjudicated.seen(locations["city"]),))
    choice = Request(uuid.uuid4(), Act.ANNOTATOR, (adjudicated.seen(locations["city"]),), annotator=1)
    late = Request(uuid.uuid4(), Act.NOTHING, (adjudicated.seen(locations["city"]),))
    about = {"project": world.project, "document": world.note, "user": world.rita}
    requests = dict(enumerate([first, tie, choice, late, Request(uuid.uuid4(), Act.UNDO)]))
    done = decide_many(**about, requests=requests)
    assert {place: error.code for place, error in done.errors.items()} == {1: "tie", 3: "moved"}
    assert (done.steps, done.state["version"]) == (3, 3)
    assert [each["state"] for each in done.state["locations"]].count("decided") == 1
    again = decide_many(**about, requests={0: first, 2: choice})
    assert (again.steps, again.state["version"]) == (2, 3)
