"""What is kept when annotations change, what becomes gold, and which notes are left."""

import pytest

from annotations.agreement.selectors import adjudications
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.deciding import finish_adjudication, reopen
from annotations.annotate.services.annotation_set import reopen as reopen_annotation_set
from annotations.annotate.services.annotation_set import submit
from annotations.core.access import Can, enter
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold_bulk
from annotations.models import Adjudication, AnnotationSet, MajorityAct, MajorityNote, Resolution
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.worlds import adjudicated
from tests.worlds.checks import refused


def finish(world, user=None):
    return finish_adjudication(project=world.project, document=world.note, user=user or world.rita)


def let_unanimous_pass(world):
    world.project.unanimous_passes = True
    world.project.save()


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
