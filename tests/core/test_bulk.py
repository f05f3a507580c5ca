"""Many rows or values at once: bulk inserts write all rows in order, and one condition takes many values."""

import pytest

from annotations.core.bulk import AT_ONCE, SpanRow, among, insert_spans
from annotations.models import Project, Span
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
