"""Prepared statements: their SQL is built once, and they read and write the same rows as the ORM."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotations.core.bulk import AT_ONCE, SpanRow, among, insert_object, insert_spans
from annotations.core.services import NOTE_READ
from annotations.models import Document, Event, Project, Span
from annotations.models.prepared import PreparedRead, PreparedUpdate, columns_of, object_of
from tests import factories as make
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
    make.change(found, name="Renamed")
    assert (make.reread(made).name, made.guidelines) == ("Renamed", "Long.")


# ── Many rows or values at once: bulk inserts write all rows in order, and one condition takes many values ──


# The rows of the test fill six columns.
IN_A_STATEMENT = AT_ONCE // 6


@pytest.fixture
def rows_of():
    """`rows_of(length)`: the annotation set of a note of this length, and a label, as ids."""

    def made(length):
        project = make.make_project()
        held = make.make_set(make.make_note(project, "a " * length), make.make_author(project, name="ann"))
        return held.pk, make.label_of(project, "PATIENT").pk

    return made


def test_columns_that_only_some_rows_fill_arrive_with_all_rows(rows_of):
    held, label = rows_of(3)
    attributes = '{"certainty": "sure"}'
    insert_spans([SpanRow(held, 0, 1, label), SpanRow(held, 2, 3, label, confidence=0.0, attributes=attributes)])
    insert_spans([SpanRow(held, 4, 5, label)])
    found = Span.objects.order_by("pk").values_list("start", "confidence", "attributes", "string_key")
    assert list(found) == [(0, None, None, None), (2, 0.0, {"certainty": "sure"}, None), (4, None, None, None)]


@pytest.mark.parametrize("count", [0, 1, IN_A_STATEMENT, IN_A_STATEMENT + 1, 3 * IN_A_STATEMENT - 1])
def test_every_row_arrives_in_order(rows_of, count):
    held, label = rows_of(count + 1)
    rows = [SpanRow(held, 2 * at, 2 * at + 1, label, confidence=at / 1000, source="100 %") for at in range(count)]
    insert_spans(iter(rows))
    found = Span.objects.order_by("pk").values_list("start", "end", "confidence", "source")
    assert list(found) == [(row.start, row.end, row.confidence, row.source) for row in rows]


@pytest.mark.parametrize("values", [[], ["ward"], ["ward", 'o\'neill "x" ñ', "none"]])
def test_a_lookup_finds_the_rows_with_one_of_the_values(values):
    names = ["ward", 'o\'neill "x" ñ', "other"]
    for at, name in enumerate(names):
        make.make_project(f"p{at}", name=name)
    found = Project.objects.filter(name__in=among(values)).values_list("name", flat=True)
    assert set(found) == {*values} & {*names}


@pytest.mark.both_databases
def test_an_object_is_inserted_as_save_inserts_it(rows_of):
    held, label = rows_of(9)
    project = Project.objects.get()
    change = {"change_id": uuid4(), "data": {"after": (1, 2, label), "é": None}, "document_id": 2**40}
    for about in ({}, {"project_id": project.pk, **change}):
        events = [Event(verb=NOTE_READ, annotation_set_id=pk, **about) for pk in (1, 2)]
        events[0].save()
        insert_object(events[1])
        _equal(*events, but=("annotation_set_id", "at"))
        assert events[0].at <= events[1].at <= timezone.now()
    for about in ({}, {"confidence": 0.5, "source": "100 %s", "attributes": {"certainty": "sure"}}):
        spans = [Span(annotation_set_id=held, start=2 * len(about), end=end, label_id=label, **about) for end in (8, 9)]
        spans[0].save()
        insert_object(spans[1])
        _equal(*spans, but=("end",))
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_object(Span(annotation_set_id=held, start=0, end=8, label_id=label))


def _equal(saved, inserted, *, but):
    """Both objects have keys in this order, and both rows have the same values, not counting some."""
    assert inserted.pk > saved.pk and not inserted._state.adding
    rows = [type(saved).objects.values().get(pk=each.pk) for each in (saved, inserted)]
    first, second = ({name: value for name, value in row.items() if name not in ("id", *but)} for row in rows)
    assert first == second
