"""A label is merged while an adjudicator decides: no decision keeps the merged label, and neither of the two fails."""

import threading

import pytest
from django.db import connection

from annotations.agreement.services import plan
from annotations.models import Span
from annotations.projects.services.labels import merge_labels
from tests.waiting import HANGS, MOMENT
from tests.worlds.adjudicated import DOCTOR, own

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_own_span_while_its_label_is_merged(world, monkeypatch):
    labels = world.project.label_set.labels
    source, target, errors = labels.get(name="CITY"), labels.get(name="HOSPITAL"), []

    def merge():
        try:
            merge_labels(source=source, target=target, actor=None)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    thread, planned = threading.Thread(target=merge), plan.plan

    def with_merge(*arguments):
        made = planned(*arguments)
        if not thread.ident:
            thread.start()
            thread.join(MOMENT)
        return made

    monkeypatch.setattr(plan, "plan", with_merge)
    own(world, DOCTOR, "CITY")
    thread.join(HANGS)
    assert not thread.is_alive() and not errors
    assert not Span.objects.filter(label=source).exists()
