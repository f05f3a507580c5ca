"""Two workers that meet the same entities at a time."""

import threading

import pytest
from django.db import connection

from annotations.models import SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.release.services.surrogates import making
from annotations.release.services.surrogates.making import surrogates_for
from tests.release.surrogates.conftest import said
from tests.waiting import HANGS

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(monkeypatch, *calls):
    """Make the calls in threads, all of which have planned before one of them stores anything."""
    together, first = threading.Barrier(len(calls)), threading.local()
    plans = making.Plan.make

    def planned(plan):
        plans(plan)
        if not hasattr(first, "done"):
            first.done = True
            together.wait(HANGS)

    monkeypatch.setattr(making.Plan, "make", planned)
    found, errors = [None] * len(calls), []

    def work(at):
        try:
            found[at] = calls[at]()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
    assert not errors, errors
    return found


def test_two_workers_with_one_patient_make_one_surrogate(ward, monkeypatch):
    first, second = at_once(monkeypatch, ward.make, ward.make)
    assert first == second and SurrogateEntity.objects.filter(kind="staff").count() == 1
    assert SurrogateMention.objects.count() == len(first)


def test_two_workers_with_different_patients_share_the_physician(ward, monkeypatch):
    halves = ward.mentions[:2], ward.mentions[2:]
    calls = [lambda notes=notes: said(notes, surrogates_for(project=ward.project, notes=notes)) for notes in halves]
    first, second = at_once(monkeypatch, *calls)
    assert first[ward.notes[0].pk, "Dr. Emily Carter"] == second[ward.notes[2].pk, "Dr. Emily Carter"]
    assert SurrogateEntity.objects.filter(kind="staff").count() == 1
    assert SurrogateEntity.objects.filter(kind="name").count() == 2
    assert SurrogateKey.objects.values("digest", "kind", "scope").distinct().count() == SurrogateKey.objects.count()
