"""The patient master and the lists through the API."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job
from annotations.release.events import PERSON_SHOWN
from tests.factories import make_member, make_note, make_project
from tests.worlds.programs import Program

KNOWN = "/projects/ward/known"
MASTER = b"patient_id,given,family,birth date\nP-1,Anna,Bianchi,1970-03-12\n"


@pytest.fixture
def program(db, no_redis):
    project = make_project("ward")
    make_note(project, patient_id="P-1")
    return Program(make_member(project, "manager", "mia"))


def uploaded(program, path, content, name="file.csv", **options):
    return program.upload(path, {"file": SimpleUploadedFile(name, content), **options})


def test_from_the_upload_to_the_values_of_a_patient(program):
    staged = uploaded(program, f"{KNOWN}/uploads", MASTER)
    assert staged.status_code == 202
    run_job(Job.objects.get(number=staged.json()["job"]["number"]).pk)
    (upload,) = program.get(f"{KNOWN}/uploads").json()
    assert (upload["state"], upload["report"]["patients"]) == ("read", 1) and "Bianchi" not in str(upload)
    imported = program.post(f"{KNOWN}/uploads/{upload['id']}/import").json()
    assert (imported["added"], imported["changed"]) == (1, 0) and program.get(KNOWN).json()["covered"] == 1
    (person,) = program.get(f"{KNOWN}/patients").json()["items"]
    assert person["patient_id"] == "P-1" and "family" in person["fields"] and "Bianchi" not in str(person)
    values = program.post(f"{KNOWN}/patients/{person['id']}/show").json()["values"]
    assert values["family"] == ["Bianchi"] and Event.objects.filter(verb=PERSON_SHOWN).exists()
    assert program.delete(f"{KNOWN}/patients/{person['id']}").status_code == 204
    assert program.get(KNOWN).json()["patients"] == 0
