"""Patient ids and erasures through the API."""

import pytest

from annotations.models import Document, NoteMetadata
from tests.factories import make_member, make_note, make_project, make_set
from tests.worlds.programs import Program

pytestmark = [pytest.mark.django_db]
PATIENTS = "/projects/ward/patients"
ID = "MRN-778812"


@pytest.fixture
def program() -> Program:
    project = make_project("ward")
    manager = make_member(project, "manager", "mia")
    make_set(make_note(project, name="visit"), manager, [(0, 11, "PATIENT")])
    make_note(project, name="other")
    return Program(manager)


def wrong(answer) -> set[str]:
    assert answer.status_code == 422
    return {error["field"] for error in answer.json()["errors"]}


def test_a_patient_from_the_id_to_the_erasure(program):
    rows = [
        {"name": "visit", "patient_id": ID}, {"name": "other", "site": "Ward"}, {"name": "gone", "patient_id": "1"}
    ]  # fmt: skip
    set_ = program.post(f"{PATIENTS}/ids", {"rows": rows})
    assert set_.json() == {"patients": 1, "metadata": 1, "unknown": ["gone"]}
    assert NoteMetadata.objects.get().site == "Ward"
    assert program.get(PATIENTS).json() == {"notes": 2, "with_id": 1, "backups": []}

    copy = make_note(make_project("copy"), Document.objects.get(name="visit").text, "another name")
    counts = {"notes": 1, "annotation_sets": 1, "copies": 1}
    preview = program.post(f"{PATIENTS}/preview", {"patient_id": ID}).json()
    assert counts.items() <= preview.items()
    assert {"what": "Project name", "count": 1, "url": "/projects/ward/settings/"} in preview["texts"]
    assert Document.objects.exclude(pk=copy.pk).count() == 2
    assert wrong(program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": "MRN"})) == {"again"}
    erased = program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID}, idempotency_key="1")
    assert counts.items() <= erased.json().items()
    assert Document.objects.exclude(pk=copy.pk).get().name == "other"
    again = program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID}, idempotency_key="1")
    # The answer names notes with comments, so it is not stored.
    assert (again.status_code, again.json()["code"]) == (409, "erased")


def test_what_is_wrong_with_an_id(program):
    assert wrong(program.post(f"{PATIENTS}/preview", {"patient_id": ID})) == {"patient_id"}
    assert wrong(program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID})) == {"patient_id"}
    twice = [{"name": "visit", "patient_id": "1"}, {"name": "visit", "patient_id": "2"}]
    assert wrong(program.post(f"{PATIENTS}/ids", {"rows": twice})) == {"rows.1.name"}
