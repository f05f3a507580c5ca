"""Suggestions stored before each had rows of its notes: a migration writes what a run and an import write today."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.models import SuggestedLabel, SuggestedNote
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def rows():
    notes = {row.document_id: row.information for row in SuggestedNote.objects.all()}
    columns = ("author", "document", "label_id", "source", "lowest", "nearest")
    return notes, sorted(SuggestedLabel.objects.values_list(*columns))


def test_stored_suggestions_get_the_rows_that_new_ones_have():
    project = make.make_project("ward")
    run = make.make_author(project, kind="run", name="rules-1")
    for number in range(3):
        note = make.make_note(project, f"Visto {number} Anna, con Rossi.")
        made = make.make_set(note, run, [(8, 12, "PATIENT"), (18, 23, "DOCTOR")][: number + 1], submitted=True)
        made.spans.filter(start=8).update(confidence=0.25 * number or None)
    make.list_for_review(run)
    expected = rows()
    assert len(expected[0]) == 3 and len(expected[1]) == 5
    SuggestedNote.objects.all().delete()
    SuggestedLabel.objects.all().delete()
    executor = MigrationExecutor(connection)
    executor.migrate([("annotations", "0024_leaks_drawn_ahead")])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert rows() == expected
