"""Labels are merged while gold is made: gold never keeps a merged label, and neither of the two fails."""

import threading

import pytest
from django.db import connection

from annotations.core.progress import silent
from annotations.gold.services import making
from annotations.models import Span
from annotations.projects.services.labels import merge_labels
from tests.factories import make_author, make_member, make_note, make_project, make_set
from tests.waiting import HANGS, MOMENT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def source():
    project = make_project()
    return make_set(make_note(project), make_author(project, name="anna"), [(43, 49, "CITY")], submitted=True)


def test_gold_of_one_note_while_its_label_is_merged(source, monkeypatch):
    reviewer = make_member(source.document.project, "reviewer", "rita")
    merge = Merge(source.document.project, monkeypatch)
    making.make_gold(document=source.document, annotation_set=source, actor=reviewer)
    merge.check()


def test_gold_in_bulk_while_a_label_is_merged(source, monkeypatch):
    """CITY is merged into PATIENT in another thread, which begins while gold is being made."""
    project = source.document.project
    labels, errors, gold_author = project.label_set.labels, [], making.gold_author

    def merge():
        try:
            merge_labels(source=labels.get(code="CITY"), target=labels.get(code="PATIENT"), actor=None)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    def with_merge(project):
        thread.start()
        thread.join(MOMENT)
        return gold_author(project)

    thread = threading.Thread(target=merge)
    monkeypatch.setattr(making, "gold_author", with_merge)
    made = making.make_gold_bulk(project_id=project.pk, author_id=source.author_id, actor_id=None, progress=silent)
    thread.join(HANGS)
    assert (made["made"], thread.is_alive(), errors) == (1, False, [])
    assert list(Span.objects.filter(annotation_set__author__kind="gold").values_list("label__code")) == [("PATIENT",)]
    assert not Span.objects.filter(label__code="CITY").exists()
