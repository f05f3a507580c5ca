"""Releases of an archived project: what was exported can be downloaded and verified, and nothing is made or changed."""

import pytest

from annotations.core.services import ProjectArchived
from annotations.models import AuditPlan, Certificate, LeakFinding, Release, ReleaseState, SurrogateEntity
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.projects import archive_project
from annotations.release.services.audits.planning import Choices, plan_audit
from annotations.release.services.certificates.signing import sign
from annotations.release.services.certificates.verifying import verify_certificate
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import start_release_export, withdraw
from annotations.release.services.surrogates.editing import change
from tests.held import made_once
from tests.ops.released_world import TERMS
from tests.worlds.commands import answered
from tests.worlds.queue import worked
from tests.worlds.released import make_clinic, make_release
from tests.zips import unzipped

pytestmark = pytest.mark.usefixtures("no_redis")


def build():
    """An archived project: release 1 is signed and exported, release 2 has open findings and surrogates."""
    clinic = make_clinic()
    signed = make_release(clinic.project, clinic.mia)
    answer_chosen(release=signed, answer="replace", actor=clinic.mia)
    signed.refresh_from_db()
    clinic.export = start_release_export(release=signed, format="text", actor=clinic.mia)
    worked(clinic.export)
    clinic.certificate = sign(release=signed, terms=TERMS, accepted=(), actor=clinic.mia, everything=True)
    clinic.signed = Release.objects.get(pk=signed.pk)
    clinic.open = make_release(clinic.project, clinic.mia, "surrogate")
    assert LeakFinding.objects.filter(note__release=clinic.open, decision="").exists()
    archive_project(project=clinic.project, actor=clinic.mia)
    clinic.project.refresh_from_db()
    clinic.open.project = clinic.signed.project = clinic.project
    return clinic


made, clinic = made_once(build)


def test_an_export_can_be_downloaded_and_verified(clinic, sign_in):
    mia = sign_in(clinic.mia)
    answer = mia.get(f"/projects/covid/files/{clinic.export.result['file_id']}")
    assert answer.status_code == 200
    names = unzipped(b"".join(answer.streaming_content))
    assert "release.json" in names and len(names) == 5
    assert ">Download<" in mia.get(f"/projects/covid/jobs/{clinic.export.number}/").content.decode()
    assert verify_certificate(bytes(clinic.certificate.json)).verified


def test_services_refuse_what_pages_would_ask_for(clinic):
    """A form that was open while a manager archived the project, or a job that waited."""
    entity = SurrogateEntity.objects.first()
    of_open = {"release": clinic.open, "actor": clinic.mia}
    for act in (
        lambda: answer_chosen(answer="allow", **of_open), lambda: answer_chosen(answer="replace", **of_open),
        lambda: start_release_export(format="text", leave_out=True, **of_open),
        lambda: sign(terms=TERMS, accepted=(), everything=True, **of_open), lambda: withdraw(**of_open),
        lambda: plan_audit(choices=Choices(target=0.5, planted=0.0), **{**of_open, "release": unsigned(clinic)}),
        lambda: make_release(clinic.project, clinic.mia),
        lambda: change(project=clinic.project, entity=entity.pk, version=entity.version, act="lock", actor=clinic.mia),
        lambda: erase_patient(project=clinic.project, patient_id="P-1", actor=clinic.mia),
    ):  # fmt: skip
        with pytest.raises(ProjectArchived):
            act()
    assert Release.objects.count() == 2 and Certificate.objects.count() == 1 and not AuditPlan.objects.exists()


def unsigned(clinic):
    """The signed release as if it could still be audited."""
    Release.objects.filter(pk=clinic.signed.pk).update(state=ReleaseState.PREPARED)
    return Release.objects.select_related("project").get(pk=clinic.signed.pk)


def test_a_command_refuses(clinic, tmp_path):
    out = tmp_path / "out"
    assert answered("release", "covid", "--set", "gold", "--policy", "mask", "--out", out) == "archived"
    assert not out.exists() and Release.objects.count() == 2
