import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotations.models import Document, Event, Project
from annotations.models.prepared import PreparedInsert, PreparedRead, PreparedUpdate, columns_of, object_of
from tests.factories import make_note, make_project

pytestmark = pytest.mark.django_db


def test_a_read_is_written_once_and_filled_every_time(django_assert_num_queries):
    project = make_project("one")
    notes = [make_note(project, name=name) for name in ("a", "b%s", "c' OR 1=1 --")]
    built = []

    def build(project, name):
        built.append(name)
        return Document.objects.filter(project__slug=project, name=name, length__gt=3).values_list("pk", "name")

    read = PreparedRead(build, str, str)
    with django_assert_num_queries(3):
        assert [read.first("one", note.name) for note in notes] == [(note.pk, note.name) for note in notes]
    assert read.all("one", "nobody") == [] and read.first("two", "a") is None
    assert len(built) == 1


def test_a_value_may_stand_in_several_places_and_a_limit_stays():
    project = make_project()
    notes = [make_note(project) for _ in range(3)]
    read = PreparedRead(
        lambda pk: Document.objects.filter(pk__gte=pk).order_by("pk").values_list(F("pk") - pk)[:2], int
    )
    assert read.all(notes[1].pk) == [(0,), (1,)]


def test_points_in_time_are_compared_as_the_database_keeps_them():
    note = make_note(make_project())
    read = PreparedRead(lambda at: Document.objects.filter(created_at__gt=at).values_list("pk"), type(timezone.now()))
    assert read.first(note.created_at - timedelta(microseconds=1)) == (note.pk,)
    assert read.first(note.created_at) is None


def test_a_value_that_is_not_used_is_a_mistake():
    with pytest.raises(TypeError, match="does not use"):
        PreparedRead(lambda pk, other: Document.objects.filter(pk=pk).values_list("pk"), int, int).first(1, 2)


def test_an_update_counts_its_rows():
    note = make_note(make_project())
    update = PreparedUpdate(
        lambda pk, language: (Document.objects.filter(pk=pk), {"language": language, "length": F("length") + 1}),
        int,
        str,
    )
    assert update.run(note.pk, "it") == 1
    assert update.run(note.pk + 1, "it") == 0
    again = Document.objects.get(pk=note.pk)
    assert (again.language, again.length) == ("it", note.length + 1)


def test_objects_are_as_the_orm_makes_them(django_assert_num_queries):
    made = make_project("short", guidelines="Long.", readers_per_note=3)
    columns = columns_of(Project, without=["guidelines"])
    row = PreparedRead(lambda pk: Project.objects.filter(pk=pk).values_list(*columns[:-2]), int).first(made.pk)
    found = object_of(Project, columns[:-2], row)
    with django_assert_num_queries(0):
        assert (found.pk, found.slug, found.readers_per_note) == (made.pk, "short", 3)
    with django_assert_num_queries(1):
        assert found.guidelines == "Long."
    found.name = "Renamed"
    found.save()
    made.refresh_from_db()
    assert (made.name, made.guidelines) == ("Renamed", "Long.")


def test_an_insert_writes_what_save_writes():
    change = uuid.uuid4()
    values = {"verb": "span.created", "data": {"after": [1, 2, 3], "name": "è"}, "change_id": change, "project_id": 7}
    made = PreparedInsert(Event).run(Event(**values))
    plain = Event.objects.create(**values | {"change_id": None})
    assert plain.pk == made.pk + 1
    found = Event.objects.get(pk=made.pk)
    assert found.data == values["data"] and found.change_id == change and found.reverts is None
    assert timedelta(0) <= plain.at - found.at < timedelta(minutes=1) and made.at == found.at
    with pytest.raises(IntegrityError), transaction.atomic():
        PreparedInsert(Event).run(Event(**values | {"verb": None}))
