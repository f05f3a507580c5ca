"""Restored with another secret key: whoever needs sealed data is told what is wrong, and everything else works."""

import json
from dataclasses import replace

import pytest

from annotations.core.sealing import OtherSecretKey, project_key
from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Document, Job, JobState, KnownPerson, ProjectKey, Release, SigningKey, SurrogateEntity
from annotations.ops.services.erasing import erase_patient
from annotations.release.rules.known.person import MasterPerson
from annotations.release.services.certificates.signing import sign
from annotations.release.services.certificates.verifying import verify_certificate
from annotations.release.services.known import add_terms, store_people
from annotations.release.services.policies import policy_named
from annotations.release.services.starting import start_release
from tests import factories as make
from tests.held import made_once
from tests.ops.released_world import TERMS
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.released import make_clinic, make_release

SENTENCE = "Sealed data can't be read with the secret key of this instance."
pytestmark = pytest.mark.usefixtures("no_redis")


def build():
    """A project with known identifiers and a release with surrogates."""
    clinic = make_clinic()
    people = {"P-1": MasterPerson(given=("Mario",), family=("Rossi",))}
    store_people(project=clinic.project, people=people, problems=0, actor=clinic.mia)
    add_terms(project=clinic.project, kind="deny", terms=[("Torino", "CITY")], actor=clinic.mia)
    clinic.release = make_release(clinic.project, clinic.mia, "surrogate")
    assert SurrogateEntity.objects.exists()
    return clinic


made, before = made_once(build)


@pytest.fixture
def clinic(before, settings, sign_in):
    """The project, whose secret key is lost since."""
    settings.SECRET_KEY = "another-secret-key-" + "0123456789" * 4
    before.client = sign_in(before.mia)
    return before


def test_pages_that_need_sealed_data_say_so_and_others_open(clinic):
    person, entity = KnownPerson.objects.get(), SurrogateEntity.objects.first()
    asked = [
        ("get", "known/", {}), ("get", "known/lists.csv", {}), ("post", f"known/patients/{person.pk}/", {"do": "show"}),
        ("get", "surrogates/", {}), ("get", f"surrogates/{entity.pk}/", {}), ("get", "surrogates/?q=Rossi", {}),
        ("post", f"surrogates/{entity.pk}/change", {"do": "draw", "version": entity.version}),
    ]  # fmt: skip
    for method, address, data in asked:
        answer = getattr(clinic.client, method)(f"/projects/covid/{address}", data, follow=True)
        assert answer.status_code in (200, 422, 503), (address, answer.status_code)
        assert SENTENCE in answer.content.decode().replace("&#x27;", "'"), (address, answer.status_code)
    page, script, part = (
        clinic.client.get("/projects/covid/surrogates/", headers=headers)
        for headers in ({}, {"accept": "application/json"}, {"hx-request": "true"})
    )
    assert {page.status_code, script.status_code, part.status_code} == {503} and script.json()["error"] == "sealed"
    assert "secret key that belongs to this database" in check_page(page) and "<h1" not in part.content.decode()
    note = clinic.notes[0].pk
    spans = {"spans": [[0, 11, clinic.labels["PATIENT"].pk]], "person": clinic.mia.pk}
    address = f"/projects/covid/notes/{note}/surrogates"
    assert clinic.client.post(address, json.dumps(spans), content_type="application/json").status_code == 409
    for address in (
        "", "notes/", f"notes/{note}/", "releases/", "releases/1/", "releases/1/findings/", "known/patients/",
    ):  # fmt: skip
        assert clinic.client.get(f"/projects/covid/{address}").status_code == 200, address


def test_a_release_fails_and_commands_write_nothing(clinic, tmp_path):
    policy = policy_named(clinic.project, "surrogate")
    release = start_release(project=clinic.project, set_spec="gold", policy=policy, actor=clinic.mia)
    work(release.job_id)
    job = Job.objects.get(pk=release.job_id)
    assert job.state == JobState.FAILED and SENTENCE in job.error
    out = tmp_path / "out"
    assert answered("surrogates", "covid") == "sealed"
    assert answered("release", "covid", "--set", "gold", "--policy", "surrogate", "--out", out) == "job"
    assert not out.exists() or not list(out.iterdir())


def test_nothing_of_a_patient_is_erased_by_half(clinic):
    with pytest.raises(OtherSecretKey):
        erase_patient(project=clinic.project, patient_id="P-1", actor=clinic.mia)
    assert Document.objects.filter(patient_id="P-1").exists() and KnownPerson.objects.exists()
    page = clinic.client.post("/projects/covid/patients/", {"do": "erase", "patient_id": "P-1", "again": "P-1"})
    assert page.status_code == 409 and SENTENCE in page.content.decode().replace("&#x27;", "'")


def test_an_old_certificate_verifies_and_no_new_one_is_signed(clinic, settings):
    other, settings.SECRET_KEY = settings.SECRET_KEY, "before" * 10
    ProjectKey.objects.all().delete()  # It is made anew, with the key from before.
    release = Release.objects.get(pk=clinic.release.pk)
    certificate = sign(release=release, terms=TERMS, accepted=(), actor=clinic.mia, everything=True)
    settings.SECRET_KEY = other
    assert verify_certificate(bytes(certificate.pdf)).verified
    release.refresh_from_db()
    changed = replace(TERMS, purpose="Research")
    with pytest.raises(ServiceError, match="secret key"):
        sign(release=release, terms=changed, accepted=(), actor=clinic.mia, everything=True)
    assert SigningKey.objects.count() == 1 and release.certificates.count() == 1
    assert project_key(make.make_project("new")).secret, "a project without sealed data gets a key"
