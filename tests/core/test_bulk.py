"""Many rows or values at once: bulk inserts write all rows in order, and one condition takes many values."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotations.core.bulk import AT_ONCE, SpanRow, among, insert_object, insert_spans
from annotations.core.services import NOTE_READ
from annotations.models import Event, Project, Span
from tests import factories as make

pytestmark = pytest.mark.django_db
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
