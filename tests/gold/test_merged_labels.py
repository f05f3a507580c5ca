"""Labels are merged while gold is made: gold never keeps a merged label, and neither of the two fails."""

import threading

import pytest
from django.db import connection

from annotations.core.services import silent
from annotations.gold.services import making
from annotations.models import Label, Span
from annotations.projects.services.labels import merge_labels
from tests.factories import make_author, make_member, make_note, make_project, make_set
from tests.waiting import HANGS, MOMENT

pytestmark = pytest.mark.django_db(transaction=True)


class Merge:
    """Merges the label CITY into PATIENT in another thread, started while gold is being made."""

    def __init__(self, project, monkeypatch):
        labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
        self._source, self._target = labels["CITY"], labels["PATIENT"]
        self._thread, self._error = threading.Thread(target=self._merge), None
        gold_author = making.gold_author

        def with_merge(project):
            self._thread.start()
            self._thread.join(MOMENT)
            return gold_author(project)

        monkeypatch.setattr(making, "gold_author", with_merge)

    def _merge(self):
        try:
            merge_labels(source=self._source, target=self._target, actor=None)
        except Exception as error:
            self._error = error
        finally:
            connection.close()

    def check(self):
        self._thread.join(HANGS)
        assert not self._thread.is_alive() and self._error is None
        gold = Span.objects.filter(annotation_set__author__kind="gold")
        assert list(gold.values_list("start", "end", "label__code")) == [(43, 49, "PATIENT")]
        assert not Span.objects.filter(label=self._source).exists()


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
    project = source.document.project
    merge = Merge(project, monkeypatch)
    made = making.make_gold_bulk(project_id=project.pk, author_id=source.author_id, actor_id=None, progress=silent)
    assert made["made"] == 1
    merge.check()
