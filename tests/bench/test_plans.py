"""The statements of the work that people do all day use the indexes made for them (PostgreSQL only).

A few thousand notes, so that the planner has a choice. `python -m tests.bench plans` shows the same on 100,000.
"""

import pytest
from django.db import connection

from tests.bench.explain import explain
from tests.bench.generated import make
from tests.bench.hot import actions

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the plans of PostgreSQL"),
]
NOTES = 6000
A_CHANGE = {"assigned_once", "one_set_per_author"}
EXPECTED = {
    "open a note": {"assigned_once", "one_set_per_author", "span_once", "assignment_work_list"},
    "next note": {"assignment_work_list"},
    "annotator's list": {"assignment_work_list", "annotations_document_pkey"},
    "spans again (another tab)": {"assigned_once", "one_set_per_author", "span_once"},
    "a span": A_CHANGE | {"span_once"},
    "relabel": A_CHANGE | {"span_once"},
    "resize": A_CHANGE | {"span_once"},
    "delete": A_CHANGE | {"annotations_span_pkey"},
    "submit": A_CHANGE,
    "list of notes, deep": {"note_by_project"},
    "list: gold, deep": {"set_by_author"},
    "all readings of a note": {"one_set_per_author", "span_once"},
    "make one reading gold": {"annotations_annotationset_pkey", "one_set_per_author", "span_once"},
    "the relay's round": {"job_live"},
}


def test_hot_statements_walk_their_indexes():
    large = make(NOTES, projects=3)
    found = {each.name: explain(each.name, each.act) for each in actions(large) if each.name in EXPECTED}
    assert set(EXPECTED) == set(found)
    for name, indexes in EXPECTED.items():
        used = {node.split()[-1] for plan in found[name].plans for node in plan.nodes if "Index" in node}
        assert not indexes - used, f"{name} uses {sorted(used)}"
        assert not found[name].faults, name
