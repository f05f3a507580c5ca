"""Bulk inserts: all rows are written in order, in any number of statements."""

import pytest

from annotations.core.bulk import AT_ONCE, SpanRow, insert_spans
from annotations.models import Label, Span
from tests import factories as make

pytestmark = pytest.mark.django_db
# The rows of the test fill six columns.
IN_A_STATEMENT = AT_ONCE // 6


def test_columns_that_only_some_rows_fill_arrive_with_all_rows():
    project = make.make_project()
    held = make.make_set(make.make_note(project, "a b c"), make.make_author(project, name="ann"))
    label = Label.objects.get(label_set__project=project, name="PATIENT").pk
    attributes = '{"certainty": "sure"}'
    insert_spans([SpanRow(held.pk, 0, 1, label), SpanRow(held.pk, 2, 3, label, confidence=0.0, attributes=attributes)])
    insert_spans([SpanRow(held.pk, 4, 5, label)])
    found = Span.objects.order_by("pk").values_list("start", "confidence", "attributes", "string_key")
    assert list(found) == [(0, None, None, None), (2, 0.0, {"certainty": "sure"}, None), (4, None, None, None)]


@pytest.mark.parametrize("count", [0, 1, IN_A_STATEMENT, IN_A_STATEMENT + 1, 3 * IN_A_STATEMENT - 1])
def test_every_row_arrives_in_order(count):
    project = make.make_project()
    held = make.make_set(make.make_note(project, "a " * (count + 1)), make.make_author(project, name="ann"))
    label = Label.objects.get(label_set__project=project, name="PATIENT").pk
    rows = [SpanRow(held.pk, 2 * at, 2 * at + 1, label, confidence=at / 1000, source="100 %") for at in range(count)]
    insert_spans(iter(rows))
    found = Span.objects.order_by("pk").values_list("start", "end", "confidence", "source")
    assert list(found) == [(row.start, row.end, row.confidence, row.source) for row in rows]
