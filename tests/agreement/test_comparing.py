"""Comparisons are up to date; disagreements have causes; annotators' names stay hidden where they must."""

import json

import pytest
from django.db import connection

from annotations.agreement.selectors.desk import desk
from annotations.agreement.selectors.disagreements import Filters, differences, rounds
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.figures import amend, change_cause
from annotations.annotate.services.annotation_set import reopen as reopen_annotation_set
from annotations.annotate.services.annotation_set import submit
from annotations.core.services import NOTE_READ
from annotations.models import Amendment, AnnotationSet, Cause, Comparison, Difference, Event
from annotations.notes.selectors.comments import has_seen_outcome
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.worlds.adjudicated import AGE, CITY, NAME, TEXT, act, made_adjudication, outcome, state, world
from tests.worlds.checks import refused
from tests.worlds.commands import answered

__all__ = ["made_adjudication", "world"]  # the fixture
pytestmark = [pytest.mark.django_db]
# ── Comparisons are never stale ──────────────────────────────────────────────────────────────────────────────────────


def found_locations(world, **filters):
    bring_up_to_date(world.project)
    return [(row.start, row.kinds) for row in differences(world.project, Filters(**filters))]


@pytest.mark.both_databases
def test_locations_follow_every_change_of_a_set(world):
    assert found_locations(world) == [(0, ",boundary,"), (13, ",missed,"), (44, ",label,missed,")]
    reopen_annotation_set(document=world.note, user=world.bruno)
    assert found_locations(world) == [(0, ",boundary,"), (44, ",missed,")]
    world.annotation_sets["bruno"].spans.filter(start=CITY[0]).delete()
    submit(document=world.note, user=world.bruno)
    assert found_locations(world) == [(0, ",boundary,"), (13, ",missed,"), (44, ",missed,")]
    labels = world.project.label_set.labels
    merge_labels(source=labels.get(name="CITY"), target=labels.get(name="AGE"), actor=None)
    assert [row.labels for row in differences(world.project, Filters())][2] != f",{world.label['AGE']},"
    bring_up_to_date(world.project)
    assert [row.labels for row in differences(world.project, Filters())][2] == f",{world.label['AGE']},"
    AnnotationSet.objects.filter(author__name="carla").update(state="withdrawn")
    assert found_locations(world) == [(13, ",missed,"), (44, ",missed,")]
    world.annotation_sets["anna"].delete()
    assert found_locations(world) == []
    assert Comparison.objects.get().annotators == 1


def test_blind_sets_count_and_the_others_can_be_shown(world):
    AnnotationSet.objects.filter(author__name="carla").update(blind=False)
    assert found_locations(world) == [(13, ",missed,"), (44, ",label,")]
    assert found_locations(world, everyone=True) == [(0, ",boundary,"), (13, ",missed,"), (44, ",label,missed,")]
    AnnotationSet.objects.filter(author__name="bruno").update(seeded=True)
    assert found_locations(world) == []
    assert Comparison.objects.get().blind_annotators == 1


@pytest.mark.both_databases
def test_the_database_marks_changed_sets_by_itself():
    """SQLite drops a table's triggers where a migration writes it anew."""
    table = "sqlite_master" if connection.vendor == "sqlite" else "pg_trigger"
    column = "name" if connection.vendor == "sqlite" else "tgname"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table} WHERE {column} LIKE 'reading_%_stale'")
        assert sorted(row[0] for row in cursor.fetchall()) == [
            "reading_delete_stale", "reading_insert_stale", "reading_update_stale"
        ]  # fmt: skip


# ── Causes, amendments, rounds ───────────────────────────────────────────────────────────────────────────────────────


def tag(world, location, kind, *, present=True, by=None):
    start, end = location
    user = by or world.rita
    return change_cause(document=world.note, start=start, end=end, kind=kind, present=present, user=user)


def stored():
    return [(c.start, c.end, c.kind, c.by.username) for c in Cause.objects.all()]


def test_a_location_keeps_its_causes_when_its_bounds_move(world):
    tag(world, (0, 5), "AB")
    tag(world, (6, 11), "AB")
    tag(world, (6, 11), "S")
    assert tag(world, (0, 11), "D", by=world.rosa) == ["AB", "D", "S"]
    assert stored() == [(0, 11, "AB", "rita"), (0, 11, "D", "rosa"), (0, 11, "S", "rita")]
    assert tag(world, (6, 11), "AB", present=False) == ["D", "S"]
    assert {(start, end) for start, end, _, _ in stored()} == {(6, 11)}


def test_an_amendment_raises_the_guidelines_and_begins_a_round(world):
    project = world.project
    project.guidelines, project.guidelines_version = "# Names\n", 3
    project.save()
    bring_up_to_date(project)
    made = amend(
        project=project, text=" A title is no name. ", actor=world.rita, location=(world.note, 0, 11), seen_version=3
    )
    again = amend(project=project, text="A title is no name.", actor=world.rita, seen_version=3)
    assert (made.number, again.pk, made.guidelines_version) == (1, made.pk, 4)
    assert make.reread(project).guidelines.startswith("# Names\n\n## Amendment 1 (")
    assert project.guidelines.endswith(")\n\nA title is no name.\n")
    with refused("stale"):
        amend(project=project, text="Another.", actor=world.rita, seen_version=3)
    assert [each.number for each in rounds(project)] == [1, 2]
    # Submitted before the amendment, or without a date: the first round. Submitted again: the second.
    assert len(found_locations(world, round=1)) == 3
    assert found_locations(world, round=2) == []
    reopen_annotation_set(document=world.note, user=world.bruno)
    submit(document=world.note, user=world.bruno)
    assert found_locations(world, round=1) == []
    assert len(found_locations(world, round=2)) == 3
    assert found_locations(world, round=3) == []
    assert "title" not in json.dumps(list(Event.objects.values_list("data", flat=True)))
    assert Amendment.objects.count() == 1


# ── Anonymous ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_in_an_anonymous_project_numbers_name_nobody(world):
    """Other notes have other orders of annotators, and a digit accepts the version of its annotator."""
    make.change(world.project, anonymous_adjudication=True)
    assert [each["name"] for each in state(world)["annotators"]] == ["Annotator 1", "Annotator 2", "Annotator 3"]
    orders = set()
    for number in range(12):
        note = make.make_note(world.project, TEXT, f"other-{number}")
        for name in ("anna", "bruno", "carla"):
            make.make_set(note, getattr(world, name), [], submitted=True)
        orders.add(tuple(each.author for each in desk(world.project, note).annotators))
    assert len(orders) > 1
    bruno = str(world.annotation_sets["bruno"].author_id)
    digit = next(each.number for each in desk(world.project, world.note).annotators if each.author == bruno)
    act(world, "annotator", CITY, annotator=digit)
    assert outcome(world) == [("HOSPITAL", "Torino")]


# ── Blindness after the outcome ──────────────────────────────────────────────────────────────────────────────────────


def test_who_reads_again_after_seeing_the_outcome_is_not_blind(world):
    assert not has_seen_outcome(world.note.pk, world.carla)
    Event.objects.create(verb=NOTE_READ, actor=world.carla, document_id=world.note.pk, data={"what": "outcome"})
    for person in (world.carla, world.anna):
        reopen_annotation_set(document=world.note, user=person)
        submit(document=world.note, user=person)
    assert not AnnotationSet.objects.get(author__name="carla").blind
    assert AnnotationSet.objects.get(author__name="anna").blind
    assert Difference.objects.count() == 0


# ── The command that lists disagreements ──


def listed(*words):
    return answered("disagreements", "covid", *words)


def test_each_location_with_the_spans_of_each_annotator(world):
    found = listed()
    assert found["total"] == 3
    assert [(each["note"], each["start"], each["end"]) for each in found["disagreements"]] == [
        ("caso-1", *NAME), ("caso-1", *AGE), ("caso-1", *CITY)
    ]  # fmt: skip
    assert found["disagreements"][2]["annotators"] == {
        "anna": [[44, 50, "CITY"]], "bruno": [[44, 50, "HOSPITAL"]], "carla": []
    }  # fmt: skip
    assert "Torino" not in json.dumps(found)
