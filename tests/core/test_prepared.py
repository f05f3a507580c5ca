"""Prepared statements: their SQL is built once, and they read and write the same rows as the ORM."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from annotations.models import Document, Project
from annotations.models.prepared import PreparedRead, PreparedUpdate, columns_of, object_of
from tests.factories import make_note, make_project

pytestmark = pytest.mark.django_db


def test_a_read_builds_its_sql_once(django_assert_num_queries):
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


def test_values_used_twice_limits_and_points_in_time():
    project = make_project()
    notes = [make_note(project) for _ in range(3)]
    some = Document.objects.order_by("pk")
    read = PreparedRead(lambda pk: some.filter(pk__gte=pk).values_list(F("pk") - pk)[:2], int)
    assert read.all(notes[1].pk) == [(0,), (1,)]
    note = notes[-1]
    read = PreparedRead(lambda at: Document.objects.filter(created_at__gt=at).values_list("pk"), type(timezone.now()))
    assert read.first(note.created_at - timedelta(microseconds=1)) == (note.pk,)
    assert read.first(note.created_at) is None


def test_an_unused_value_raises():
    with pytest.raises(TypeError, match="does not use"):
        PreparedRead(lambda pk, other: Document.objects.filter(pk=pk).values_list("pk"), int, int).first(1, 2)


def test_an_update_counts_its_rows():
    note = make_note(make_project())

    def change(pk, language):
        return Document.objects.filter(pk=pk), {"language": language, "length": F("length") + 1}

    update = PreparedUpdate(change, int, str)
    assert (update.run(note.pk, "it"), update.run(note.pk + 1, "it")) == (1, 0)
    again = Document.objects.get(pk=note.pk)
    assert (again.language, again.length) == ("it", note.length + 1)


def test_objects_equal_those_of_the_orm(django_assert_num_queries):
    made = make_project("short", guidelines="Long.", annotators_per_note=3)
    columns = columns_of(Project, without=["guidelines"])
    row = PreparedRead(lambda pk: Project.objects.filter(pk=pk).values_list(*columns[:-2]), int).first(made.pk)
    found = object_of(Project, columns[:-2], row)
    with django_assert_num_queries(0):
        assert (found.pk, found.slug, found.annotators_per_note) == (made.pk, "short", 3)
    with django_assert_num_queries(1):
        assert found.guidelines == "Long."
    found.name = "Renamed"
    found.save()
    made.refresh_from_db()
    assert (made.name, made.guidelines) == ("Renamed", "Long.")
