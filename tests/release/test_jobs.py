"""The job that prepares a release: batches of whole patients, interruptions, helpers, and erasures meanwhile."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db.models.functions import Now

from annotations import models
from annotations.jobs.runner import execute, take, take_share
from annotations.jobs.runner import run as work
from annotations.jobs.services import queue
from annotations.ops.services.deleting import delete_project
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.projects.services.projects import archive_project
from annotations.release import jobs
from annotations.release.services import batches
from annotations.release.services.batches import next_batch
from annotations.release.services.policies import policy_named
from annotations.release.services.preparing import Preparer
from annotations.release.services.starting import start_release
from annotations.text.hashes import text_sha256
from tests.factories import make_member, reread
from tests.release.conftest import add_note, new_project
from tests.worlds.killing import Killed
from tests.worlds.released import make_release

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
PATIENTS, EACH = 4, 3


@pytest.fixture
def release(no_redis, monkeypatch):
    """A release of twelve notes of four patients, three of them without a patient id, in batches of about two notes."""
    monkeypatch.setattr(batches, "NOTES", 2)
    project = new_project()
    for number in range(EACH):
        for patient in range(PATIENTS):
            name = f"n{number}{patient}"
            text = f"«Nora Quimby|PATIENT» came on «0{number + 1}/03/2019|DATE».\n"
            add_note(project, name, text, language="en", patient_id=f"P-{patient:05}" if patient else "")
    manager = make_member(project, "manager", "mara")
    policy = policy_named(project, "mask")
    return start_release(project=project, set_spec="gold", policy=policy, actor=manager, token="t")


def check_complete(release, notes=PATIENTS * EACH):
    job = models.Job.objects.get(pk=release.job_id)
    release.refresh_from_db()
    assert (job.state, job.done, job.total) == (models.JobState.DONE, notes, notes)
    assert (release.state, release.figures["notes"]) == (models.ReleaseState.PREPARED, notes)
    rows = list(models.ReleasedNote.objects.filter(release=release))
    assert len(rows) == notes and {row.state for row in rows} == {"done"}
    assert all(row.text == "[PATIENT] came on [DATE].\n" and row.sha256 == text_sha256(row.text) for row in rows)
    assert not models.Share.objects.exists()


def test_rows_follow_each_other_by_patient_and_batches_never_cut_a_patient(release):
    patients = list(models.ReleasedNote.objects.order_by("id").values_list("document__patient_id", flat=True))
    assert patients == sorted(patients)
    seen = []
    while ids := next_batch(release):
        seen.append([patients[pk - ids[0] + sum(map(len, seen))] for pk in ids])
        models.ReleasedNote.objects.filter(pk__in=ids).update(state="done")
    assert seen == [["", ""], ["", *["P-00001"] * EACH], ["P-00002"] * EACH, ["P-00003"] * EACH]


def test_a_killed_worker_loses_at_most_its_batch(release, monkeypatch):
    prepare, calls = Preparer.prepare, []

    def killed_in_the_second_batch(*args):
        calls.append(args)
        if len(calls) == 2:
            raise Killed
        return prepare(*args)

    monkeypatch.setattr(Preparer, "prepare", killed_in_the_second_batch)
    with pytest.raises(Killed):
        jobs.run(take(release.job_id))
    assert models.ReleasedNote.objects.filter(state="done").count() == 2
    past = Now() - timedelta(seconds=1)
    models.Job.objects.update(lease_until=past)
    models.Share.objects.update(lease_until=past)
    work(release.job_id)
    check_complete(release)
    assert len(calls) == 1 + 1 + 3


def test_helpers_take_other_patients(release):
    lead = take(release.job_id)
    first = list(take_share(lead, lambda held: next_batch(release, held)))
    held = [(first[0], first[-1])]
    assert not set(first) & set(next_batch(release, held))
    ids = models.ReleasedNote.objects.order_by("id").values_list("id", flat=True)
    whole = next_batch(release, [(ids[3], ids[5])])
    patients = set(models.ReleasedNote.objects.filter(pk__in=whole).values_list("document__patient_id", flat=True))
    assert "P-00001" not in patients


def test_a_worker_with_more_cores_starts_processes_that_help(release, monkeypatch):
    started = []
    monkeypatch.setattr(execute.os, "fork", lambda: started.append(1) or 1)
    monkeypatch.setattr(execute, "_usable", SimpleNamespace(cores=1))
    execute.use_cores(3)
    work(release.job_id)
    assert len(started) == 2, "one core is this process's own"
    check_complete(release)


def test_a_process_that_helps_takes_shares_until_the_job_ends(release, monkeypatch, settings):
    settings.JOB_JOIN_SECONDS = 0
    lead = take(release.job_id)
    first = take_share(lead, lambda held: next_batch(release, held))
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            models.Job.objects.update(state="done")

    monkeypatch.setattr(execute, "time", SimpleNamespace(sleep=nap))
    execute._help_when_wanted(release.job_id)
    assert naps == [execute.LOOK_EVERY] * 2
    done = models.ReleasedNote.objects.filter(state="done")
    assert done.count() == PATIENTS * EACH - len(first) and not done.filter(pk__in=first).exists()


def test_a_patient_who_is_erased_while_a_batch_is_prepared_leaves_nothing(release, monkeypatch):
    prepare, erased = Preparer.prepare, []

    def erasing(self, notes, siblings=()):
        prepared = prepare(self, notes, siblings)
        if not erased and notes[-1].patient:
            erased.append(notes[-1].patient)
            erase_patient(project=release.project, patient_id=notes[-1].patient, actor=None)
        return prepared

    monkeypatch.setattr(Preparer, "prepare", erasing)
    work(release.job_id)
    check_complete(release, (PATIENTS - 1) * EACH)
    assert (release.note_count, release.erased_count) == (PATIENTS * EACH, EACH)
    assert not models.Document.objects.filter(patient_id=erased[0]).exists()


def test_deleting_a_note_takes_its_released_text_and_findings(release):
    note = add_note(release.project, "q", "«Ada Fenwick|PATIENT» left. Fenwick slept.\n", language="en")
    second = make_release(release.project)
    assert models.LeakFinding.objects.filter(note__document=note).count() == 1
    before = second.content_hash
    delete_note(project=release.project, note=note.pk, actor=None)
    assert reread(second).erased_count == 1 and second.content_hash == "" != before
    assert not models.LeakFinding.objects.exists() and not models.ReleasedNote.objects.filter(document=note.pk).exists()
    assert "Fenwick" not in str(second.figures)


@pytest.mark.parametrize("act", ["pause", "cancel"])
def test_an_interrupted_job_goes_on(release, monkeypatch, act):
    prepare = Preparer.prepare

    def interrupted(*args):
        getattr(queue, act)(models.Job.objects.get())
        return prepare(*args)

    monkeypatch.setattr(Preparer, "prepare", interrupted)
    work(release.job_id)
    assert models.Job.objects.get().state == (models.JobState.PAUSED if act == "pause" else models.JobState.CANCELED)
    assert models.ReleasedNote.objects.filter(state="done").count() < PATIENTS * EACH
    assert reread(release).state == models.ReleaseState.PREPARING
    monkeypatch.setattr(Preparer, "prepare", prepare)
    (queue.resume if act == "pause" else queue.retry)(models.Job.objects.get())
    work(release.job_id)
    check_complete(release)


def test_the_job_prepares_all_notes_until_a_patient_is_erased_and_the_project_deleted(release):
    work(release.job_id)
    check_complete(release)
    events = models.Event.objects.values_list("data", flat=True)
    written = str([*events, *models.Job.objects.values_list("params", "result")])
    assert "Quimby" not in written and "P-0" not in written
    models.Release.objects.update(state=models.ReleaseState.SIGNED)
    erase_patient(project=release.project, patient_id="P-00001", actor=None)
    signed = models.Release.objects.get()
    assert (signed.content_hash, signed.erased_count) == (release.content_hash, EACH)
    project = release.project
    archive_project(project=project, actor=None)
    delete_project(project=project, name=project.name, actor=None, seconds=None)
    assert not any(model.objects.exists() for model in (models.Release, models.ReleasePolicy, models.ReleasedNote))
