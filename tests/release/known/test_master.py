"""The patient master: preview, import, import twice, encryption, erasing."""

import logging

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.sealing import project_key
from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, Job, JobState, KnownPerson, KnownUpload
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.events import MASTER_IMPORTED, PERSON_DELETED, PERSON_SHOWN
from annotations.release.rules.known.person import MasterPerson, identifiers
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.selectors.known import content_digest, master_state, people_of
from annotations.release.services.known import delete_expired_uploads, import_upload, stage_master, store_people
from tests import factories as make
from tests.release.known.files import CSV, FHIR, SECRETS
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

PAGE = "/projects/covid/known/"
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def upload(client, content=CSV, format="csv"):
    """Upload a file, let the job read it, and return the upload."""
    file = SimpleUploadedFile("patients.csv", content)
    answer = client.post(PAGE, {"do": "upload", "format": format, "file": file})
    assert answer.status_code == 302, answer.content.decode()[-2000:]
    job = Job.objects.latest("id")
    assert answer.url == reverse("job", args=["covid", job.number])
    work(job.pk)
    return KnownUpload.objects.first()


def imported(client, **about):
    found = upload(client, **about)
    answer = client.post(reverse("known_upload", args=["covid", found.pk]), {"do": "import"}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def patients(world):
    Document.objects.filter(pk=world.note.pk).update(patient_id="P-1")
    return world


def upload_page(found):
    return reverse("known_upload", args=["covid", found.pk])


def stored():
    return [each.patient_id for each in KnownPerson.objects.all()]


def test_the_preview_shows_columns_and_problems_but_no_value(patients, mia):
    html = check_page(mia.get(upload_page(upload(mia))))
    assert "data di nascita" in html and "shoe size" in html and "not recognized" in html
    assert "Row 3, column “data di nascita”" in html and "Import 2 patients" in html
    assert not KnownPerson.objects.exists() and not any(word in html for word in SECRETS)


def test_an_import_adds_changes_and_leaves_patients(patients, mia):
    assert "New: 2, changed: 0, unchanged: 0" in imported(mia)
    assert "New: 0, changed: 1, unchanged: 1" in imported(mia, content=CSV.replace(b"333 1234567", b"333 1111111"))
    assert not KnownUpload.objects.exists()
    data = Event.objects.filter(verb=MASTER_IMPORTED).latest("id").data
    assert data == {"added": 0, "changed": 1, "unchanged": 1, "problems": 1}
    state = master_state(patients.project)
    assert (state.patients, state.covered, state.nameless, state.without_notes) == (2, 1, 1, 1)
    assert state.fields["given"] == 2 and state.fields["birth_dates"] == 1 and "emails" not in state.fields


def test_fhir_patients_are_validated_by_a_worker(patients, mia):
    page = upload_page(upload(mia, content=FHIR, format="fhir"))
    html = check_page(mia.get(page))
    assert "Resource 2, element “birthDate”, does not follow FHIR R4" in html and "secret" not in html
    mia.post(page, {"do": "import"})
    known = identifiers(people_of(patients.project, ["P-1", "P-3", ""])["P-1"])
    assert known == [("Mario Brambillaschi", Kind.NAME), ("1970-01-12", Kind.DATE)]


def test_a_file_that_is_no_master_fails_its_job_and_leaves_nothing(mia):
    assert upload(mia, content=b"Anna,Rossi\n") is None
    job = Job.objects.latest("id")
    assert job.state == JobState.FAILED and "no column of patient IDs" in job.error and "Anna" not in job.error


def staged(patients):
    return stage_master(project=patients.project, content=CSV, format="csv", actor=patients.mia)


def test_a_double_click_stages_one_upload_and_a_second_confirmation_changes_nothing(patients):
    found, job = staged(patients)
    assert staged(patients) == (found, job)
    work(job.pk)
    import_upload(project=patients.project, upload_id=found.pk, actor=patients.mia)
    with pytest.raises(ServiceError, match="no longer exists"):
        import_upload(project=patients.project, upload_id=found.pk, actor=patients.mia)
    assert stored() == ["P-1", "P-2"]


def test_nothing_readable_is_stored_logged_or_sent(patients, mia, caplog):
    caplog.set_level(logging.DEBUG)
    with CaptureQueriesContext(connection) as queries:
        imported(mia)
    sealed = [bytes(row.sealed) for row in KnownPerson.objects.all()]
    jobs = [(each.params, each.result, each.key) for each in Job.objects.all()]
    said = repr([caplog.text, jobs, list(Event.objects.values_list("data", flat=True)), sealed])
    said += " ".join(query["sql"] for query in queries)
    assert not [word for word in SECRETS if word in said]
    assert project_key(patients.project).open(sealed[0])["given"] == ["Mario"]


def test_values_are_shown_on_request_and_each_time_is_recorded(patients, mia):
    imported(mia)
    url = reverse("known_person", args=["covid", KnownPerson.objects.get(patient_id="P-1").pk])
    assert "P-1" in check_page(mia.get(PAGE + "patients/"))
    assert "Brambillaschi" not in check_page(mia.get(url)) and not Event.objects.filter(verb=PERSON_SHOWN).exists()
    shown = mia.post(url, {"do": "show"})
    assert "Brambillaschi" in shown.content.decode() and "no-store" in shown.headers["Cache-Control"]
    assert Event.objects.get(verb=PERSON_SHOWN).actor == patients.mia


def test_one_patient_and_the_whole_master_can_be_deleted(patients, mia):
    imported(mia)
    delete_note(project=patients.project, note=patients.note.pk, actor=patients.mia)
    assert stored() == ["P-1", "P-2"], "deleting a note keeps the master"
    url = reverse("known_person", args=["covid", KnownPerson.objects.get(patient_id="P-1").pk])
    before = content_digest(patients.project)
    for _ in range(2):
        mia.post(url, {"do": "delete"})
    assert Event.objects.filter(verb=PERSON_DELETED).count() == 1 and stored() == ["P-2"]
    assert content_digest(patients.project) != before and mia.get(url).status_code == 404
    mia.post(PAGE, {"do": "clear"})
    assert stored() == []


def test_a_patient_without_notes_can_be_erased(patients, mia):
    imported(mia)
    page = "/projects/covid/patients/"
    assert "Erase known identifiers" in check_page(mia.post(page, {"do": "preview", "patient_id": "P-2"}))
    check_page(mia.post(page, {"do": "erase", "patient_id": "P-2", "again": "P-2"}))
    assert stored() == ["P-1"]
    with pytest.raises(ServiceError, match="No note"):
        erase_patient(project=patients.project, patient_id="P-2", actor=None)


def test_a_patient_who_is_erased_while_the_file_is_read_does_not_come_back(patients):
    found, job = staged(patients)
    erase_patient(project=patients.project, patient_id="P-1", actor=patients.mia)
    work(job.pk)
    assert not KnownUpload.objects.filter(pk=found.pk).exists() and not KnownPerson.objects.exists()


def test_an_upload_can_be_discarded_and_expires(patients, mia, settings):
    url = upload_page(upload(mia))
    assert "waits for your confirmation" in check_page(mia.get(PAGE))
    mia.post(url, {"do": "discard"})
    assert mia.get(url).status_code == 404 and not KnownPerson.objects.exists()
    upload(mia)
    assert delete_expired_uploads() == 0
    settings.STORED_FILE_HOURS = -1
    assert delete_expired_uploads() == 1


def test_two_projects_seal_the_same_person_differently(patients):
    for project in (patients.project, make.make_project()):
        store_people(project=project, people={"P-1": MasterPerson(given=("Ida",))}, problems=0, actor=None)
    assert len(set(KnownPerson.objects.values_list("digest", flat=True))) == 2


KNOWN = "/projects/covid/known"


def test_from_the_upload_to_the_values_of_a_patient_by_the_api(patients):
    program, master = Program(patients.mia), b"patient_id,given,family,birth date\nP-1,Anna,Bianchi,1970-03-12\n"
    staged = program.upload(f"{KNOWN}/uploads", {"file": SimpleUploadedFile("file.csv", master)})
    assert staged.status_code == 202
    work(Job.objects.get(number=staged.json()["job"]["number"]).pk)
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
