"""Two real processes that fill the index of one project at a time."""

import json

import pytest

from annotations.models import AuthorKind, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.projects.services.projects import create_project
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from tests import factories as make
from tests.waiting import ended
from tests.worlds.queue import processes, redis_server

__all__ = ["processes", "redis_server"]
pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]
PATIENTS, DOCTOR = 12, "Dr. Emily Carter"
NAMES = ("Adam", "Betty", "Carl", "Diana", "Edwin", "Fiona", "Gregory", "Helen", "Ivan", "Julia", "Kevin", "Laura")


def test_two_processes_make_one_surrogate(processes):
    project = create_project(name="Ward", slug="ward", label_set_key="i2b2-2014")
    gold = make.make_author(project, kind=AuthorKind.GOLD, name="gold")
    for at, name in enumerate(NAMES):
        patient = f"{name} Thornbury"
        note = make.make_note(
            project, f"{patient} was seen by {DOCTOR}.", f"n{at}", language="en", patient_id=f"P-{at:04}"
        )
        doctor = note.text.index(DOCTOR)
        spans = [(0, len(patient), "PATIENT"), (doctor, doctor + len(DOCTOR), "DOCTOR")]
        make.make_set(note, gold, spans, submitted=True)
    both = [processes("surrogates", "ward", "--json") for _ in range(2)]
    for process in both:
        ended(process.popen)
    found = [json.loads(process.output().strip().splitlines()[-1]) for process in both]
    for result in found:
        assert (result["mentions"], result["consistent"], result["collisions"]) == (2 * PATIENTS, 1.0, 0)
    assert SurrogateEntity.objects.filter(kind=Kind.STAFF).count() == 1
    assert SurrogateEntity.objects.filter(kind=Kind.NAME).count() == PATIENTS
    assert SurrogateMention.objects.count() == 2 * PATIENTS
    keys = SurrogateKey.objects.values("digest", "kind", "scope")
    assert keys.distinct().count() == keys.count()
