"""Releases of an archived project: what was exported can be downloaded and verified, and nothing is made or changed."""

import io
import json
import uuid
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotations.audits.selectors.plans import Choices
from annotations.audits.services.planning import plan_audit
from annotations.certificates.services.signing import sign
from annotations.certificates.services.verifying import verify_certificate
from annotations.core.archived import ProjectArchived
from annotations.jobs.runner import run as work
from annotations.models import AuditPlan, Certificate, Job, LeakFinding, Release, ReleasePolicy, SurrogateEntity
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.archiving import archive_project
from annotations.release.services.deciding import decide_all
from annotations.release.services.exporting import start_release_export
from annotations.release.services.withdrawing import withdraw
from annotations.surrogates.services.editing import lock
from tests.held import fresh
from tests.ops.released_world import TERMS
from tests.worlds.released import make_clinic, make_release

SENTENCE = "This project is archived. A manager can restore it in the project settings."
pytestmark = pytest.mark.usefixtures("no_redis")


def build():
    """An archived project: release 1 is signed and exported, release 2 has open findings and surrogates."""
    clinic = make_clinic()
    signed = make_release(clinic.project, clinic.mia)
    decide_all(release=signed, answer="replace", actor=clinic.mia)
    signed.refresh_from_db()
    clinic.export = start_release_export(release=signed, format="text", actor=clinic.mia)
    work(clinic.export.pk)
    clinic.export.refresh_from_db()
    clinic.certificate = sign(release=signed, terms=TERMS, accepted=(), actor=clinic.mia, everything=True)
    clinic.signed = Release.objects.get(pk=signed.pk)
    clinic.open = make_release(clinic.project, clinic.mia, "surrogate")
    assert LeakFinding.objects.filter(note__release=clinic.open, decision="").exists()
    archive_project(project=clinic.project, actor=clinic.mia)
    clinic.project.refresh_from_db()
    clinic.open.project = clinic.signed.project = clinic.project
    return clinic


@pytest.fixture(scope="module")
def made(once):
    return once(build)


@pytest.fixture
def clinic(made, db):
    clinic = fresh(made, build)
    clinic.client = Client()
    clinic.client.force_login(clinic.mia)
    return clinic


def test_an_export_can_be_downloaded_and_verified(clinic):
    answer = clinic.client.get(f"/projects/covid/files/{clinic.export.result['file_id']}")
    assert answer.status_code == 200
    names = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))).namelist()
    assert "release.json" in names and len(names) == 4
    job = clinic.client.get(f"/projects/covid/jobs/{clinic.export.number}/").content.decode()
    assert ">Download<" in job
    assert verify_certificate(bytes(clinic.certificate.json)).verified


def test_pages_refuse_with_the_sentence(clinic):
    finding = LeakFinding.objects.filter(note__release=clinic.open).first()
    posts = {
        "releases/new/": {"set": "gold", "policy": "mask", "token": str(uuid.uuid4())},
        "releases/2/findings/decide": {"finding": finding.pk, "answer": "replace"},
        "releases/2/export": {"format": "text", "leave_out": "1", "token": str(uuid.uuid4())},
        "releases/2/withdraw": {},
        "releases/2/audit/start": {},
        "releases/policies/mask/": {"name": "Other"},
        "surrogates/merge": {},
        "known/lists": {"list": "deny", "terms": "Torino", "label": "CITY"},
    }
    for address, data in posts.items():
        answer = clinic.client.post(f"/projects/covid/{address}", data)
        assert answer.status_code == 403, (address, answer.status_code)
        assert SENTENCE in answer.content.decode(), address
    check_unchanged(clinic)


def check_unchanged(clinic):
    assert set(Release.objects.values_list("number", "state")) == {(1, "signed"), (2, "prepared")}
    assert Certificate.objects.count() == 1 and not AuditPlan.objects.exists()
    assert set(ReleasePolicy.objects.values_list("version", flat=True)) == {1}
    assert not LeakFinding.objects.filter(note__release=clinic.open).exclude(decision="").exists()
    assert not Job.objects.filter(state=Job.State.QUEUED).exists()


def test_services_refuse_what_pages_would_ask_for(clinic):
    """A form that was open while a manager archived the project, or a job that waited."""
    entity = SurrogateEntity.objects.first()
    of_open = {"release": clinic.open, "actor": clinic.mia}
    for act in (
        lambda: decide_all(answer="allow", **of_open),
        lambda: decide_all(answer="replace", **of_open),
        lambda: start_release_export(format="text", leave_out=True, **of_open),
        lambda: sign(terms=TERMS, accepted=(), everything=True, **of_open),
        lambda: withdraw(**of_open),
        lambda: plan_audit(choices=Choices(target=0.5, planted=0.0), **{**of_open, "release": unsigned(clinic)}),
        lambda: make_release(clinic.project, clinic.mia),
        lambda: lock(project=clinic.project, entity=entity.pk, version=entity.version, locked=True, actor=clinic.mia),
        lambda: erase_patient(project=clinic.project, patient_id="P-1", actor=clinic.mia),
    ):
        with pytest.raises(ProjectArchived):
            act()
    assert Release.objects.count() == 2 and Certificate.objects.count() == 1 and not AuditPlan.objects.exists()


def unsigned(clinic):
    """The signed release as if it could still be audited."""
    Release.objects.filter(pk=clinic.signed.pk).update(state=Release.State.PREPARED)
    return Release.objects.select_related("project").get(pk=clinic.signed.pk)


@pytest.mark.parametrize(
    "words",
    [
        ["release", "covid", "--set", "gold", "--policy", "mask", "--out", "{out}"],
        ["audit_plan", "covid", "--release", "2", "--bound", "10%", "--planted", "0%"],
        ["known_identifiers", "covid", "--deny", "{terms}"],
    ],
    ids=lambda words: words[0],
)
def test_commands_refuse_with_the_sentence(clinic, words, tmp_path, capsys):
    terms = tmp_path / "terms.txt"
    terms.write_text("Torino\tCITY\n")
    given = [word.format(out=tmp_path / "out", terms=terms) for word in words]
    decided = LeakFinding.objects.filter(note__release=clinic.open)
    decided.update(decision="allow")
    clinic.open.notes.update(state="done")
    with pytest.raises(CommandError, match="archived"):
        call_command(*given, "--json")
    assert json.loads(capsys.readouterr().out)["code"] == "archived"
    assert not (tmp_path / "out").exists() and Release.objects.count() == 2 and not AuditPlan.objects.exists()
