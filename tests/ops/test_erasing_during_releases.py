"""A patient is erased while a release is prepared, decided, audited, signed or exported in another transaction.

Whatever holds the lock of `hold` is stored first, and then erased. Whatever has read the notes before stores nothing.
"""

import pytest

from annotations import models
from annotations.jobs.runner import run as work
from annotations.ops.services.erasing import erase_patient
from annotations.release.services import batches, deciding, exporting
from annotations.release.services.audits import planning, reading
from annotations.release.services.audits.planning import Choices, plan_audit
from annotations.release.services.audits.reading import next_note
from annotations.release.services.certificates import signing
from annotations.release.services.certificates.signing import content_of, sign
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import start_release_export
from annotations.release.services.policies import policy_named
from annotations.release.services.starting import start_release
from annotations.release.services.surrogates import making
from tests.factories import reread
from tests.ops.erasing_world import Meanwhile as Erasing
from tests.ops.released_world import TERMS
from tests.worlds.queue import worked
from tests.worlds.released import make_clinic, make_release

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_redis")]
PATIENT = "P-1"  # two of the three notes


class Meanwhile(Erasing):
    def check(self, waited=True):
        """Check that nothing of the patient is left, and that the erasure waited for what was being stored."""
        assert self.waited or not waited, "the erasure did not wait, or the function was never called"
        self.join()
        assert self._done.is_set() and not self._errors
        assert not models.Document.objects.filter(patient_id=PATIENT).exists()
        assert models.ReleasedNote.objects.exclude(document__patient_id="P-2").count() == 0


@pytest.fixture
def clinic(db):
    return make_clinic()


def start(clinic, policy="mask"):
    chosen = policy_named(clinic.project, policy, actor=clinic.mia)
    return start_release(project=clinic.project, set_spec="gold", policy=chosen, actor=clinic.mia)


def prepared(clinic, policy="mask"):
    release = make_release(clinic.project, clinic.mia, policy)
    answer_chosen(release=release, answer="allow", actor=clinic.mia)
    return models.Release.objects.select_related("project", "policy").get(pk=release.pk)


@pytest.mark.parametrize("policy", ["mask", "surrogate"])
@pytest.mark.parametrize("after", [False, True], ids=["before storing", "while storing"])
def test_preparing(clinic, monkeypatch, policy, after):
    """Before: the batch is thrown away, and what is left is prepared. While: it is stored, and then erased."""
    release = start(clinic, policy)
    meanwhile = Meanwhile(clinic, monkeypatch, batches, "unerased", after=after)
    work(release.job_id)
    meanwhile.check(waited=after)
    assert reread(release).state == models.ReleaseState.PREPARED, models.Job.objects.get(pk=release.job_id).error
    assert release.notes.get().state == models.ReleasedNoteState.DONE
    assert (release.note_count - release.erased_count) == 1
    assert not models.LeakFinding.objects.filter(source__isnull=False).exclude(source__patient_id="P-2").exists()
    assert not models.SurrogateMention.objects.exclude(document__patient_id="P-2").exists()
    assert not models.SurrogateEntity.objects.filter(mentions=None).exists()


def test_storing_surrogates(clinic, monkeypatch):
    release = start(clinic, "surrogate")
    meanwhile = Meanwhile(clinic, monkeypatch, making, "hold", after=True)
    work(release.job_id)
    meanwhile.check()
    assert not models.SurrogateMention.objects.exclude(document__patient_id="P-2").exists()
    assert not models.SurrogateEntity.objects.filter(mentions=None).exists()


@pytest.mark.parametrize("after", [False, True], ids=["before storing", "while storing"])
def test_deciding(clinic, monkeypatch, after):
    release = make_release(clinic.project, clinic.mia)
    assert models.LeakFinding.objects.filter(note__release=release).exists()
    meanwhile = Meanwhile(clinic, monkeypatch, deciding, "unerased", after=after)
    answer_chosen(release=release, answer="replace", actor=clinic.mia)
    meanwhile.check(waited=after)
    assert not models.LeakFinding.objects.exists()
    assert reread(release).erased_count == 2


@pytest.mark.parametrize("after", [False, True], ids=["before storing", "while storing"])
def test_exporting(clinic, monkeypatch, after):
    release = prepared(clinic)
    job = start_release_export(release=release, format="text", actor=clinic.mia)
    meanwhile = Meanwhile(clinic, monkeypatch, exporting, "unerased", after=after)
    worked(job)
    meanwhile.check(waited=after)
    # On SQLite the transaction of the export excludes the erasure from its begin, so the file is stored and erased.
    assert job.state == models.JobState.DONE or (not after and "erased during this work" in job.error)
    assert not models.StoredFile.objects.exists()


def test_planning_an_audit(clinic, monkeypatch):
    release = prepared(clinic)
    meanwhile = Meanwhile(clinic, monkeypatch, planning, "hold", after=True)
    plan = plan_audit(release=release, choices=Choices(target=0.5, planted=0.5), actor=clinic.mia)
    meanwhile.check()
    drawn, plan = plan.drawn, models.AuditPlan.objects.get()
    assert plan.erased_count == drawn - models.AuditNote.objects.count() and plan.erased_count


def test_taking_a_note_of_an_audit(clinic, monkeypatch):
    release = prepared(clinic)
    plan = plan_audit(release=release, choices=Choices(target=0.5, planted=0.0), actor=clinic.mia)
    meanwhile = Meanwhile(clinic, monkeypatch, reading, "hold", after=True)
    assert next_note(plan=plan, user=clinic.rev) is not None
    meanwhile.check()
    left = models.AuditNote.objects.filter(plan=plan)
    assert set(left.values_list("note__document__patient_id", flat=True)) <= {"P-2"}


def test_signing(clinic, monkeypatch):
    """The certificate is about what was signed; the erasure is recorded after it, and a new certificate is due."""
    release = prepared(clinic)
    meanwhile = Meanwhile(clinic, monkeypatch, signing, "hold", after=True)
    certificate = sign(release=release, terms=TERMS, accepted=(), actor=clinic.mia, everything=True)
    meanwhile.check()
    assert certificate.note_count == 3
    release.refresh_from_db()
    assert (release.state, release.erased_count, release.erasures.get().notes) == (models.ReleaseState.SIGNED, 2, 2)
    newer = sign(release=release, terms=TERMS, accepted=(), actor=clinic.mia, everything=True)
    assert (newer.number, newer.note_count) == (2, 1) and content_of(newer)["data"]["erased"][0]["notes"] == 2


def test_an_erasure_before_signing(clinic):
    """The hash of the prepared notes is computed again, so the release can be signed at once."""
    release = prepared(clinic)
    erase_patient(project=clinic.project, patient_id=PATIENT, actor=None)
    assert reread(release).content_hash == ""
    assert sign(release=release, terms=TERMS, accepted=(), actor=clinic.mia, everything=True).note_count == 1
