"""What is kept when annotations change, what becomes gold, and which notes are left."""

import pytest

from annotations.agreement.selectors.adjudications import (
    Show,
    adjudication_counts,
    adjudication_notes,
    items_of,
    next_to_adjudicate,
)
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.deciding import finish_adjudication, reopen
from annotations.annotate.services.annotation_set import reopen as reopen_annotation_set
from annotations.annotate.services.annotation_set import submit
from annotations.core.errors import ServiceError
from annotations.gold.services.making import make_gold, make_gold_bulk
from annotations.models import Adjudication, AnnotationSet, Resolution, Span
from annotations.projects.services.labels import merge_labels
from annotations.projects.services.projects import set_guidelines
from tests import factories as make
from tests.worlds.adjudicated import (
    AGE,
    CITY,
    DATE,
    DOCTOR,
    NAME,
    SURNAME,
    TEXT,
    act,
    decide_all,
    location_at,
    location_states,
    outcome,
    provenance,
    refused,
    state,
)


def finish(world, user=None):
    return finish_adjudication(project=world.project, document=world.note, user=user or world.rita)


def make_gold_of(world):
    own_set = AnnotationSet.objects.get(author__kind="adjudicated")
    make_gold(document=world.note, annotation_set=own_set, actor=world.rosa)
    return Span.objects.get(annotation_set__author__kind="gold", start=NAME[0]).provenance


def let_unanimous_pass(world):
    world.project.unanimous_passes = True
    world.project.save()


# ── Annotation sets that change ──────────────────────────────────────────────────────────────────────────────────────


def test_remerge_keeps_decisions(world):
    decide_all(world)
    before = outcome(world)
    reopen_annotation_set(document=world.note, user=world.carla)
    found = state(world)
    assert (found["missing"], found["open"], outcome(world)) == (["carla"], 0, before)
    # Unchanged annotations need no second look; a changed location and a new one do.
    submit(document=world.note, user=world.carla)
    assert state(world)["open"] == 0
    reopen_annotation_set(document=world.note, user=world.carla)
    world.annotation_sets["carla"].spans.filter(start=SURNAME[0]).update(start=0)
    make.make_span(world.annotation_sets["carla"], *DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    assert outcome(world) == before
    assert [(start, how) for start, how in location_states(world) if how != "decided"] == [
        (NAME[0], "changed"), (DOCTOR[0], "open")
    ]  # fmt: skip
    act(world, "keep", NAME)
    assert Resolution.objects.get(start=0).choice == "majority"
    assert len(provenance(world, NAME)["annotators"]) == 3
    act(world, "nothing", DOCTOR)
    assert state(world)["open"] == 0


def test_fewer_than_two_annotation_sets(world):
    for person in (world.carla, world.bruno):
        reopen_annotation_set(document=world.note, user=person)
    assert not state(world)["ready"]
    assert refused(world, "nothing", NAME) == "annotators"
    with pytest.raises(ServiceError) as error:
        finish(world)
    assert error.value.code == "annotators"


def test_a_merged_label_stays_decided_under_its_new_name(world):
    decide_all(world)
    finish(world)
    bring_up_to_date(world.project)
    labels = world.project.label_set.labels
    merge_labels(source=labels.get(name="CITY"), target=labels.get(name="HOSPITAL"), actor=None)
    assert ("HOSPITAL", "Torino") in outcome(world)
    for _ in range(2):
        assert adjudication_counts(world.project).again == 0, "nobody said anything else"
        bring_up_to_date(world.project)
    assert state(world)["open"] == 0
    reopen(project=world.project, document=world.note, user=world.rita)
    assert location_at(world, CITY)["outcome"] == [(*CITY, world.label["HOSPITAL"])]
    act(world, "undo")  # the choice of Torino, under its new name
    assert ("HOSPITAL", "Torino") not in outcome(world)
    act(world, "redo")
    assert ("HOSPITAL", "Torino") in outcome(world)


# ── The end, gold, the rule ──────────────────────────────────────────────────────────────────────────────────────────


def test_finishing_requires_every_location_decided(world):
    def made_in_bulk():
        author = AnnotationSet.objects.get(author__kind="adjudicated").author_id
        known = {"project_id": world.project.pk, "author_id": author, "actor_id": None}
        return make_gold_bulk(**known, progress=lambda *_: None)["made"]

    with pytest.raises(ServiceError, match="4 disagreements are still open"):
        finish(world)
    decide_all(world)
    assert made_in_bulk() == 0, "the note is not finished"
    finish(world)
    finish(world, world.rosa)
    assert Adjudication.objects.get().finished_by == world.rita
    assert AnnotationSet.objects.get(author__kind="adjudicated").state == "submitted"
    assert refused(world, "nothing", NAME) == "finished"
    assert made_in_bulk() == 1
    reopen(project=world.project, document=world.note, user=world.rosa)
    assert state(world)["open"] == 0
    assert not Adjudication.objects.exists()


def test_each_span_says_which_guidelines_held_when_it_was_decided(world):
    """Provenance in the adjudicated set and in gold, also where a rule decides."""
    act(world, "majority", NAME)
    world.project = world.note.project = set_guidelines(project=world.project, text="Names whole.", actor=world.rita)
    act(world, "nothing", AGE)
    act(world, "annotator", CITY, annotator=1)
    world.project.unanimous_passes = True
    finish(world)
    assert [provenance(world, bounds)["guidelines"] for bounds in (NAME, CITY, DATE)] == [0, 1, 1]
    how = make_gold_of(world)
    assert (how["from"], how["by"], how["guidelines"]) == ("adjudicated:adjudicated", "rosa", 1)
    how = how["adjudication"]
    assert (how["choice"], how["by"], len(how["annotators"]), how["guidelines"]) == ("majority", "rita", 2, 0)


def test_what_all_say_passes_by_the_project_s_rule(world):
    let_unanimous_pass(world)
    assert state(world)["open"] == 3
    for bounds in (NAME, AGE):
        act(world, "nothing", bounds)
    act(world, "annotator", CITY, annotator=1)
    finish(world)
    how = provenance(world, DATE)
    assert (how["rule"], how["by"], how["choice"]) == ("unanimous", None, "rule")


# ── The list of notes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_has_the_lowest_agreement_first(world):
    alike, apart, alone, empty = (make.make_note(world.project, TEXT, name) for name in ("b", "c", "d", "e"))
    for person in (world.anna, world.bruno):
        make.make_set(alike, person, [(*DATE, "DATE")], submitted=True)
        make.make_set(empty, person, [], submitted=True)
    make.make_set(apart, world.anna, [(*DATE, "DATE")], submitted=True)
    make.make_set(apart, world.bruno, [(*CITY, "CITY")], submitted=True)
    make.make_set(alone, world.anna, [(*DATE, "DATE")], submitted=True)
    bring_up_to_date(world.project)
    lines = items_of(adjudication_notes(world.project, Show.TODO))
    assert [line.name for line in lines] == ["c", "caso-1", "b", "e"]
    assert [line.agreement for line in lines][::3] == [0.0, None]
    assert (lines[1].disputed, lines[1].agreed, lines[1].pending) == (3, 1, 3)
    assert next_to_adjudicate(world.project, None) == apart.pk
    assert next_to_adjudicate(world.project, apart.pk) == world.note.pk
    assert next_to_adjudicate(world.project, empty.pk) == apart.pk
    decide_all(world)
    finish(world)
    counts = adjudication_counts(world.project)
    assert (counts.todo, counts.begun, counts.again, counts.finished, counts.all) == (3, 0, 0, 1, 4)
    # An annotator submits changed annotations after the adjudication was finished.
    reopen_annotation_set(document=world.note, user=world.carla)
    make.make_span(world.annotation_sets["carla"], *DOCTOR, "DOCTOR")
    submit(document=world.note, user=world.carla)
    bring_up_to_date(world.project)
    assert adjudication_counts(world.project).again == 1
    assert items_of(adjudication_notes(world.project, Show.AGAIN))[0].state == "again"
