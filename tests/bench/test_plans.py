"""The statements of the work that people do all day use the indexes made for them (PostgreSQL only).

A few thousand notes, so that the planner has a choice. `python -m tests.bench plans` shows the same on 100,000.
"""

import pytest
from django.core.management import call_command
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
    "list: gold, deep": {"set_by_author"},
    "all readings of a note": {"one_set_per_author", "span_once"},
    "make one reading gold": {"annotations_annotationset_pkey", "one_set_per_author", "span_once"},
    "the relay's round": {"job_live"},
}
# The project has nearly all notes: either index comes to the same.
EITHER = {"list of notes, deep": {"note_by_project", "annotations_document_pkey"}}


def test_hot_statements_walk_their_indexes():
    # What earlier tests rolled back has left tables and indexes swollen, which the planner minds.
    call_command("flush", interactive=False, verbosity=0)
    large = make(NOTES)
    found = {each.name: explain(each.name, each.act) for each in actions(large) if each.name in EXPECTED | EITHER}
    assert set(EXPECTED | EITHER) == set(found)
    for name, explained in found.items():
        used = {node.split()[-1] for plan in explained.plans for node in plan.nodes if "Index" in node}
        assert not EXPECTED.get(name, set()) - used, f"{name} uses {sorted(used)}"
        assert name not in EITHER or EITHER[name] & used, f"{name} uses {sorted(used)}"
        assert not explained.faults, name
