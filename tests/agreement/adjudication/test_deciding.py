"""Adjudication: what is shown, decided, undone and refused, and what becomes gold when a note is finished."""

import json
import uuid
from functools import partial

import pytest

from annotations.agreement.events import ADJUDICATION_DECIDED
from annotations.agreement.selectors import adjudications
from annotations.agreement.services import plan
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.deciding import decide, decide_many, finish_adjudication, reopen
from annotations.agreement.services.plan import Act, Request
from annotations.annotate.services.annotation_set import reopen as reopen_annotation_set
from annotations.annotate.services.annotation_set import submit
from annotations.core.access import Can, enter
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold_bulk
from annotations.models import Adjudication, AnnotationSet, Event, MajorityAct, MajorityNote, Resolution, Span
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


def finish(world, user=None):
    return finish_adjudication(project=world.project, document=world.note, user=user or world.rita)


def let_unanimous_pass(world):
    make.change(world.project, unanimous_passes=True)


# ── Annotation sets that change ──────────────────────────────────────────────────────────────────────────────────────


def test_remerge_keeps_decisions(world):
    adjudicated.decide_all(world)
    before = adjudicated.outcome(world)
    reopen_annotation_set(document=world.note, user=world.carla)
    found = adjudicated.state(world)
    assert (found["missing"], found["open"], adjudicated.outcome(world)) == (["carla"], 0, before)
    # Unchanged annotations need no second look; a changed location and a new one do.
    submit(document=world.note, user=world.carla)
    assert adjudicated.state(world)["open"] == 0
    reopen_annotation_set(document=world.note, user=world.carla)
    world.annotation_sets["carla"].spans.filter(start=adjudicated.SURNAME[0]).update(start=0)
    make.make_span(world.annotation_sets["carla"], *adjudicated.DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    assert adjudicated.outcome(world) == before
    assert [(start, how) for start, how in adjudicated.location_states(world) if how != "decided"] == [
        (adjudicated.NAME[0], "changed"), (adjudicated.DOCTOR[0], "open")
    ]  # fmt: skip
    adjudicated.act(world, "keep", adjudicated.NAME)
    assert Resolution.objects.get(start=0).choice == "majority"
    assert len(adjudicated.provenance(world, adjudicated.NAME)["annotators"]) == 3
    adjudicated.act(world, "nothing", adjudicated.DOCTOR)
    assert adjudicated.state(world)["open"] == 0


def test_fewer_than_two_annotation_sets(world):
    for person in (world.carla, world.bruno):
        reopen_annotation_set(document=world.note, user=person)
    assert not adjudicated.state(world)["ready"]
    assert adjudicated.refused(world, "nothing", adjudicated.NAME) == "annotators"
    with refused("annotators"):
        finish(world)


def test_a_merged_label_stays_decided_under_its_new_name(world):
    adjudicated.decide_all(world)
    finish(world)
    bring_up_to_date(world.project)
    labels = world.project.label_set.labels
    merge_labels(source=labels.get(name="CITY"), target=labels.get(name="HOSPITAL"), actor=None)
    assert ("HOSPITAL", "Torino") in adjudicated.outcome(world)
    for _ in range(2):
        assert adjudications.adjudication_counts(world.project).again == 0, "nobody said anything else"
        bring_up_to_date(world.project)
    assert adjudicated.state(world)["open"] == 0
    reopen(project=world.project, document=world.note, user=world.rita)
    assert adjudicated.location_at(world, adjudicated.CITY)["outcome"] == [(*adjudicated.CITY, world.label["HOSPITAL"])]
    adjudicated.act(world, "undo")  # the choice of Torino, under its new name
    assert ("HOSPITAL", "Torino") not in adjudicated.outcome(world)
    adjudicated.act(world, "redo")
    assert ("HOSPITAL", "Torino") in adjudicated.outcome(world)


# ── The end, gold, the rule ──────────────────────────────────────────────────────────────────────────────────────────


def test_finishing_requires_every_location_decided(world):
    def made_in_bulk():
        author = AnnotationSet.objects.get(author__kind="adjudicated").author_id
        known = {"project_id": world.project.pk, "author_id": author, "actor_id": None}
        return make_gold_bulk(**known, progress=lambda *_: None)["made"]

    with pytest.raises(ServiceError, match="4 disagreements are still open"):
        finish(world)
    adjudicated.decide_all(world)
    assert made_in_bulk() == 0, "the note is not finished"
    finish(world)
    finish(world, world.rosa)
    assert Adjudication.objects.get().finished_by == world.rita
    assert AnnotationSet.objects.get(author__kind="adjudicated").state == "submitted"
    assert adjudicated.refused(world, "nothing", adjudicated.NAME) == "finished"
    assert made_in_bulk() == 1
    reopen(project=world.project, document=world.note, user=world.rosa)
    assert adjudicated.state(world)["open"] == 0
    assert not Adjudication.objects.exists()


def test_what_all_say_passes_by_the_project_s_rule(world):
    let_unanimous_pass(world)
    assert adjudicated.state(world)["open"] == 3
    for bounds in (adjudicated.NAME, adjudicated.AGE):
        adjudicated.act(world, "nothing", bounds)
    adjudicated.act(world, "annotator", adjudicated.CITY, annotator=1)
    finish(world)
    how = adjudicated.provenance(world, adjudicated.DATE)
    assert (how["rule"], how["by"], how["choice"]) == ("unanimous", None, "rule")


# ── The list of notes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_has_the_lowest_agreement_first(world):
    alike, apart, alone, empty = (
        make.make_note(world.project, adjudicated.TEXT, name) for name in ("b", "c", "d", "e")
    )
    for person in (world.anna, world.bruno):
        make.make_set(alike, person, [(*adjudicated.DATE, "DATE")], submitted=True)
        make.make_set(empty, person, [], submitted=True)
    make.make_set(apart, world.anna, [(*adjudicated.DATE, "DATE")], submitted=True)
    make.make_set(apart, world.bruno, [(*adjudicated.CITY, "CITY")], submitted=True)
    make.make_set(alone, world.anna, [(*adjudicated.DATE, "DATE")], submitted=True)
    bring_up_to_date(world.project)
    lines = adjudications.items_of(adjudications.adjudication_notes(world.project, adjudications.Show.TODO))
    assert [line.name for line in lines] == ["c", "caso-1", "b", "e"]
    assert [line.agreement for line in lines][::3] == [0.0, None]
    assert (lines[1].disputed, lines[1].agreed, lines[1].pending) == (3, 1, 3)
    assert adjudications.next_to_adjudicate(world.project, None, world.rita.pk) == apart.pk
    assert adjudications.next_to_adjudicate(world.project, apart.pk, world.rita.pk) == world.note.pk
    assert adjudications.next_to_adjudicate(world.project, empty.pk, world.rita.pk) == apart.pk
    adjudicated.act(world, "nothing", adjudicated.NAME)
    first = {who: adjudications.next_to_adjudicate(world.project, None, who.pk) for who in (world.rita, world.rosa)}
    assert first == {world.rita: world.note.pk, world.rosa: apart.pk}, "what one has begun comes first"
    assert adjudications.next_to_adjudicate(world.project, empty.pk, world.rosa.pk) == world.note.pk, (
        "others' come last"
    )
    waiting = [adjudications.to_adjudicate(world.project, who.pk) for who in (world.rita, world.rosa)]
    assert [found.filter(document_id=world.note.pk).count() for found in waiting] == [1, 0]
    for who, left in ((world.rita, 4), (world.rosa, 3)):  # the list says what the badge says
        shown = adjudications.adjudication_notes(world.project, adjudications.Show.TODO, who.pk)
        counted = adjudications.adjudication_counts(world.project, who.pk).todo
        badge = adjudications.notes_left(enter(who, world.project.slug, Can.MAKE_GOLD))
        assert (counted, shown.count(), badge) == (left, left, left)
    MajorityNote.objects.create(
        act=MajorityAct.objects.create(project=world.project, user=world.rita), document=world.note
    )
    assert waiting[1].count() == 4, "a vote begins a note for nobody"
    MajorityNote.objects.all().delete()
    adjudicated.decide_all(world)
    finish(world)
    counts = adjudications.adjudication_counts(world.project)
    assert (counts.todo, counts.begun, counts.again, counts.finished, counts.all) == (3, 0, 0, 1, 4)
    # An annotator submits changed annotations after the adjudication was finished.
    reopen_annotation_set(document=world.note, user=world.carla)
    make.make_span(world.annotation_sets["carla"], *adjudicated.DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    bring_up_to_date(world.project)
    assert adjudications.adjudication_counts(world.project).again == 1
    assert (
        adjudications.items_of(adjudications.adjudication_notes(world.project, adjudications.Show.AGAIN))[0].state
        == "again"
    )
