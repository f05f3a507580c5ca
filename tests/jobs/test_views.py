"""The pages of jobs: content, control (also by command), and the buttons that start jobs."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import CommandError
from django.urls import reverse
from django.utils import timezone

from annotations.exchange.services.importing import run_import
from annotations.exchange.services.staged import pack
from annotations.jobs.runner import take
from annotations.jobs.services import relay, status
from annotations.jobs.services.worker import perform
from annotations.models import Import, ImportState, Job, JobState
from tests import factories as make
from tests.exchange.brat_files import stage
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed
from tests.worlds.pages import signed_in as client_of
from tests.worlds.queue import change

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("probes", "no_redis")]


def build_world():
    project, other = make.make_project("covid"), make.make_project("other")
    people = {role: make.make_member(project, role) for role in ("manager", "reviewer", "annotator", "viewer")}
    note = make.make_note(project)
    own = make.make_set(note, people["annotator"], [(0, 11, "PATIENT")], submitted=True)
    stranger = make.make_member(other, "manager")
    return SimpleNamespace(project=project, other=other, stranger=stranger, author=own.author, **people)


made, world = made_once(build_world)


@pytest.fixture
def job(world, make_job):
    return make_job("count", project=world.project, actor=world.manager, total=4)


@pytest.fixture
def manager(world):
    return client_of(world.manager)


def url_of(job, name="job"):
    return reverse(name, args=[job.project.slug, job.number])


# ── Content ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_refreshes_after_an_eighth_of_the_jobs_age_and_until_its_end(manager, job, monkeypatch):
    now = timezone.now()
    monkeypatch.setattr(status.timezone, "now", lambda: now)
    # Once a second after eight seconds, also if the clock of the server that started the job is a minute ahead.
    waits = {0: 25, 100: 25, 400: 50, 4000: 500, 7999: 999, 8000: 1000, 8_000_000: 1000, -60_000: 1000}
    for age, wait in waits.items():
        change(job, created_at=now - timedelta(milliseconds=age))
        assert f'hx-trigger="every {wait}ms"' in manager.get(url_of(job)).text
    for state in ("done", "failed", "canceled", "paused"):
        change(job, state=state)
        assert "X-Background" not in check_page(manager.get(url_of(job)))


def test_progress_rate_and_time_left(manager, job, monkeypatch):
    take(job.pk)
    now = timezone.now()
    monkeypatch.setattr(status, "timezone", SimpleNamespace(now=lambda: now))
    begun = now - timedelta(seconds=20)
    change(job, done=300, total=1000, claimed_done=100, claimed_at=begun, lease_until=now)
    html = check_page(manager.get(url_of(job)))
    for words in ('max="1000" value="300"', "300 of 1,000 notes (30%)", "10 notes/s", "70 seconds left"):
        assert words in html
    change(job, kind="transcribe")
    html = check_page(manager.get(url_of(job)))
    assert "300 of 1,000 seconds" in html and "10 times as fast as real time" in html and "seconds/s" not in html


def test_a_missing_worker_is_reported(manager, job, monkeypatch):
    assert "does not respond" in manager.get(url_of(job)).text, "Redis is away"
    monkeypatch.setattr(status, "workers_alive", lambda queue: 0)
    assert "No cpu worker is running" in manager.get(url_of(job)).text
    monkeypatch.setattr(status, "workers_alive", lambda queue: 1)
    assert "notice warn" not in manager.get(url_of(job)).text


def test_a_job_whose_worker_was_killed_is_not_shown_as_running(manager, job, monkeypatch):
    take(job.pk)
    change(job, lease_until=timezone.now() - timedelta(seconds=2))
    assert "The worker does not respond" in manager.get(url_of(job)).text
    monkeypatch.setattr(status, "workers_alive", lambda queue: 0)
    monkeypatch.setattr(relay, "states", lambda queue: [])
    html = check_page(manager.get(url_of(job)))
    assert "Waiting for a worker to continue" in html and "no cpu worker is running" in html
    row = next(row for row in relay.queue_rows() if row.queue == "cpu")
    assert (row.running, row.lost, row.stuck) == (0, 1, True)


def test_an_error_is_shown_and_escaped(manager, job):
    change(job, state="failed", error="there is no label '<b>'")
    html = check_page(manager.get(url_of(job)))
    assert "there is no label &#x27;&lt;b&gt;&#x27;" in html and "Everything that this job added was removed" in html


def test_a_waiting_job_says_how_many_are_ahead(world, make_job):
    """Jobs of its queue that wait, in any project; not those of other queues, later ones, or ones that run."""
    own = {"project": world.project, "actor": world.manager, "total": 4}
    client, first = client_of(world.viewer), make_job("count", **own)
    assert "This job is next in the queue “cpu”." in check_page(client.get(url_of(first)))
    make_job("count", project=world.other, actor=world.stranger, total=4)
    Job.objects.create(project=world.project, kind="count", key="gpu", queue="gpu")
    last = make_job("count", **own)
    make_job("count", **own)
    assert "2 jobs are ahead in the queue “cpu”." in check_page(client.get(url_of(last)))
    change(first, state=JobState.RUNNING)
    assert "1 job is ahead in the queue “cpu”." in check_page(client.get(url_of(last)))
    change(last, state=JobState.RUNNING)
    assert "in the queue" not in check_page(client.get(url_of(last)))


# ── Control ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_only_usable_buttons_are_shown(world, job):
    def buttons(user):
        html = client_of(user).get(url_of(job)).text
        return {name for name in ("cancel", "pause", "resume", "retry") if f'"{url_of(job, f"job_{name}")}"' in html}

    assert buttons(world.manager) == {"cancel", "pause"} and buttons(world.viewer) == buttons(world.reviewer) == set()
    changes = [
        ({"state": "paused"}, {"resume", "cancel"}), ({"state": "failed"}, {"retry"}), ({"kind": "import"}, set()),
    ]  # fmt: skip
    for values, usable in changes:
        change(job, **values)
        assert buttons(world.manager) == usable


def test_cancel_pause_resume_retry(world, manager, job, make_job):
    reviewer = client_of(world.reviewer)
    for name, state in [("pause", "paused"), ("resume", "queued"), ("cancel", "canceled"), ("retry", "queued")]:
        assert reviewer.post(url_of(job, f"job_{name}")).status_code == 403, "who may not start it may not control it"
        response = manager.post(url_of(job, f"job_{name}"))
        assert (response.status_code, response.url) == (302, url_of(job))
        assert make.reread(job).state == state
    once = make_job("once", project=world.project)
    assert "be paused" in manager.post(url_of(once, "job_pause"), follow=True).text


def jobs(*words):
    return answered("jobs", "covid", *words)


def test_the_command_lists_and_controls_jobs(world, job):
    assert [(row["number"], row["state"]) for row in jobs()["jobs"]] == [(1, "queued")]
    assert jobs(1, "--cancel", "--by", world.annotator.username) == "access"
    for word, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "canceled"), ("retry", "queued")):
        assert jobs(1, f"--{word}", "--by", world.manager.username)["state"] == state
    assert jobs(1, "--wait")["state"] == "done" and [jobs(*words) for words in ((2,), ("--cancel",))] == ["job", "job"]


def test_a_job_that_failed_is_a_failure_to_wait_for(job):
    change(job, state=JobState.FAILED, error="A reason.")
    assert jobs(1)["state"] == "failed"
    with pytest.raises(CommandError, match="A reason"):
        printed("jobs", "covid", 1, "--wait")


# ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def staged(world):
    files = [("a.txt", b"Mario Rossi, 54 anni."), ("b.txt", b"Seen on 12/03/2021.")]
    return stage(world.project, pack(files), format="text", written_as="", actor=world.manager)


def start(client, row):
    return client.post(reverse("job_start_import", args=["covid", row.pk]))


def done(job):
    perform(job.pk)
    return make.reread(job)


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_canceled_too_late_is_done(manager, staged):
    """The worker is lost after it imported the last note and before it stored the last state of the job."""
    start(manager, staged)
    job = Job.objects.get(kind="import")
    run_import(import_id=staged.pk, progress=take(job.pk).progress)
    change(job, cancel_requested=True, lease_until=timezone.now() - timedelta(seconds=1))
    done(job)
    assert (job.state, job.result["notes"]) == (JobState.DONE, 2)


def test_a_discarded_import_is_not_started(manager, staged):
    Import.objects.filter(pk=staged.pk).update(state=ImportState.CANCELED)
    assert start(manager, staged).url == reverse("import_preview", args=["covid", staged.pk])
    assert not Job.objects.exists()
    assert manager.get(reverse("job_of_import", args=["covid", staged.pk])).status_code == 404
