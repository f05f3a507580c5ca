"""The pages of jobs: access, content, control, and the buttons that start jobs."""

from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations.jobs.performing import perform
from annotations.jobs.runner import take
from annotations.jobs.services import queues, status
from annotations.jobs.services.status import duration
from annotations.models import Document, Import, Job
from annotations.transfer.services.staged import pack, stage_import
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db]


def client_of(user, **options):
    client = Client(**options)
    client.force_login(user)
    return client


@pytest.fixture
def world(db, probes, no_redis):
    project, other = make.make_project("covid"), make.make_project("other")
    people = {role: make.make_member(project, role) for role in ("manager", "reviewer", "annotator", "viewer")}
    return SimpleNamespace(project=project, other=other, stranger=make.make_member(other, "manager"), **people)


@pytest.fixture
def job(world, make_job):
    return make_job("count", project=world.project, actor=world.manager, total=4)


def url_of(job, name="job"):
    return reverse(name, args=[job.project.slug, job.number])


def staged(world, text="Mario Rossi, 54 anni."):
    return stage_import(
        project=world.project,
        name="notes.zip",
        content=BytesIO(pack([("a.txt", text.encode()), ("b.txt", b"Seen on 12/03/2021.")]).read()),
        format="text",
        written_as="",
        language="",
        take_duplicates=False,
        actor=world.manager,
    )


# ── Access ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("role", ["manager", "reviewer", "viewer"])
def test_people_who_read_every_note_see_the_jobs(world, job, role):
    client = client_of(getattr(world, role))
    html = check_page(client.get(reverse("jobs", args=["covid"])))
    assert f"Count, job {job.number}" in html
    assert f"Count, job {job.number}" in check_page(client.get(url_of(job)))


def test_an_annotator_does_not(world, job):
    client = client_of(world.annotator)
    assert client.get(reverse("jobs", args=["covid"])).status_code == 403
    assert client.get(url_of(job)).status_code == 403


def test_a_stranger_finds_nothing(world, job):
    client = client_of(world.stranger)
    assert client.get(reverse("jobs", args=["covid"])).status_code == 404
    assert client.get(url_of(job)).status_code == 404
    assert client.get(reverse("job", args=["other", job.number])).status_code == 404, "not in their project either"


def test_bad_ids_and_methods(world, job):
    client = client_of(world.manager)
    assert client.get(reverse("job", args=["covid", 9**18])).status_code == 404
    assert client.get(reverse("job", args=["covid", 10**30])).status_code == 404
    assert client.post(url_of(job)).status_code == 405
    for name in ("job_cancel", "job_pause", "job_resume", "job_retry"):
        assert client.get(url_of(job, name)).status_code == 405


def test_an_empty_list_says_what_it_will_show(world):
    assert "No jobs yet" in check_page(client_of(world.viewer).get(reverse("jobs", args=["covid"])))


def test_the_fragment_is_what_the_page_includes(world, job, monkeypatch):
    monkeypatch.setattr(status, "LATEST", status.SOONEST)
    client = client_of(world.manager)
    page, fragment = client.get(url_of(job)), client.get(url_of(job), headers={"HX-Request": "true"})
    part = check_page(fragment, fragment=True)
    assert 'hx-trigger="every 25ms"' in part and "<html" not in part
    assert 'hx-trigger="every 25ms"' in check_page(page)
    assert "HX-Request" in fragment["Vary"]


@pytest.mark.parametrize("seconds", [8, 8000, -60])
def test_after_eight_seconds_the_page_refreshes_once_a_second(world, job, seconds):
    """So it does if the clock of the server that started the job is a minute ahead."""
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(seconds=seconds))
    assert 'hx-trigger="every 1000ms"' in check_page(client_of(world.manager).get(url_of(job)))


def test_until_then_the_page_refreshes_after_an_eighth_of_the_jobs_age(world, job, monkeypatch):
    now = timezone.now()
    monkeypatch.setattr(status.timezone, "now", lambda: now)
    for age, wait in ((0, 25), (100, 25), (400, 50), (4000, 500), (7999, 999)):
        Job.objects.filter(pk=job.pk).update(created_at=now - timedelta(milliseconds=age))
        assert f'hx-trigger="every {wait}ms"' in client_of(world.manager).get(url_of(job)).content.decode()


def test_a_refresh_does_not_count_as_activity(world, job):
    """The automatic sign-out must happen although the page refreshes every second."""
    assert '"X-Background"' in client_of(world.manager).get(url_of(job)).content.decode()


@pytest.mark.parametrize("state", ["done", "failed", "canceled", "paused"])
def test_an_ended_job_is_not_refreshed(world, job, state):
    Job.objects.filter(pk=job.pk).update(state=state)
    html = check_page(client_of(world.manager).get(url_of(job)))
    assert "hx-trigger" not in html


# ── Content ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_progress_rate_and_time_left(world, job, monkeypatch):
    take(job.pk)
    now = timezone.now()
    monkeypatch.setattr(status, "timezone", SimpleNamespace(now=lambda: now))
    Job.objects.filter(pk=job.pk).update(
        done=300, total=1000, claimed_done=100, claimed_at=now - timedelta(seconds=20), lease_until=now
    )
    html = check_page(client_of(world.viewer).get(url_of(job)))
    assert 'max="1000" value="300"' in html
    assert "300 of 1,000 notes (30%)" in html
    assert "10 notes/s" in html
    assert "70 seconds left" in html


def test_a_missing_worker_is_reported(world, job, monkeypatch):
    client = client_of(world.manager)
    assert "does not respond" in client.get(url_of(job)).content.decode(), "Redis is away"
    monkeypatch.setattr(status, "workers_alive", lambda queue: 0)
    assert "No cpu worker is running" in client.get(url_of(job)).content.decode()
    monkeypatch.setattr(status, "workers_alive", lambda queue: 1)
    assert "notice warn" not in client.get(url_of(job)).content.decode()


def test_a_worker_that_does_not_respond_is_reported(world, job):
    take(job.pk)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=2))
    assert "The worker does not respond" in client_of(world.manager).get(url_of(job)).content.decode()


def test_a_job_whose_worker_was_killed_is_not_shown_as_running(world, job, monkeypatch):
    take(job.pk)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=2))
    monkeypatch.setattr(status, "workers_alive", lambda queue: 0)
    monkeypatch.setattr(queues, "states", lambda queue: [])
    html = check_page(client_of(world.manager).get(url_of(job)))
    assert "Waiting for a worker to continue" in html and "no cpu worker is running" in html
    row = next(row for row in queues.queue_rows() if row.queue == "cpu")
    assert (row.running, row.lost, row.stuck) == (0, 1, True)


def test_an_error_is_shown_and_escaped(world, job):
    Job.objects.filter(pk=job.pk).update(state="failed", error="there is no label '<b>'")
    html = check_page(client_of(world.manager).get(url_of(job)))
    assert "there is no label &#x27;&lt;b&gt;&#x27;" in html
    assert "Everything that this job added was removed" in html


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "less than a second"), (1, "1 second"), (40.4, "40 seconds"), (170, "3 minutes"), (7300, "2 hours")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


# ── Control ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_only_usable_buttons_are_shown(world, job):
    def buttons(user):
        html = client_of(user).get(url_of(job)).content.decode()
        return {name for name in ("cancel", "pause", "resume", "retry") if f'id="job-{name}"' in html}

    assert buttons(world.manager) == {"cancel", "pause"}
    assert buttons(world.viewer) == buttons(world.reviewer) == set()
    Job.objects.filter(pk=job.pk).update(state="paused")
    assert buttons(world.manager) == {"resume", "cancel"}
    Job.objects.filter(pk=job.pk).update(state="failed")
    assert buttons(world.manager) == {"retry"}
    Job.objects.filter(pk=job.pk).update(state="failed", kind="import")
    assert buttons(world.manager) == set()


def test_cancel_pause_resume_retry(world, job):
    client = client_of(world.manager)
    for name, state in [("pause", "paused"), ("resume", "queued"), ("cancel", "canceled"), ("retry", "queued")]:
        response = client.post(url_of(job, f"job_{name}"))
        assert (response.status_code, response.url) == (302, url_of(job))
        job.refresh_from_db()
        assert job.state == state


@pytest.mark.parametrize("role", ["viewer", "reviewer", "annotator"])
@pytest.mark.parametrize("name", ["job_cancel", "job_pause", "job_resume", "job_retry"])
def test_people_who_may_not_start_a_job_may_not_control_it(world, job, role, name):
    assert client_of(getattr(world, role)).post(url_of(job, name)).status_code == 403
    assert client_of(world.stranger).post(url_of(job, name)).status_code == 404
    job.refresh_from_db()
    assert job.state == Job.State.QUEUED


def test_a_button_without_the_token_does_nothing(world, job):
    assert client_of(world.manager, enforce_csrf_checks=True).post(url_of(job, "job_cancel")).status_code == 403


def test_an_error_is_reported(world, make_job):
    once = make_job("once", project=world.project)
    response = client_of(world.manager).post(url_of(once, "job_pause"), follow=True)
    assert "be paused" in response.content.decode()


# ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_import_is_started_once(world):
    row, client = staged(world), client_of(world.manager)
    url = reverse("job_start_import", args=["covid", row.pk])
    first, second = client.post(url), client.post(url)
    job = Job.objects.get(kind="import")
    assert first.url == second.url == url_of(job)
    assert client.get(reverse("job_of_import", args=["covid", row.pk])).url == url_of(job)
    row.refresh_from_db()
    assert row.state == Import.State.RUNNING


@pytest.mark.django_db(transaction=True)
def test_an_import_from_the_click_to_its_report(world):
    row, client = staged(world), client_of(world.manager)
    client.post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get(kind="import")
    perform(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["notes"], job.done, job.total) == (Job.State.DONE, 2, 2, 2)
    assert Document.objects.filter(project=world.project).count() == 2
    html = check_page(client.get(url_of(job)))
    assert "Notes imported" in html and reverse("import_preview", args=["covid", row.pk]) in html
    assert "Mario" not in html


@pytest.mark.django_db(transaction=True)
def test_a_canceled_import_keeps_nothing(world):
    row, client = staged(world), client_of(world.manager)
    client.post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get(kind="import")
    client.post(url_of(job, "job_cancel"))
    row.refresh_from_db()
    assert (row.state, row.stored_file) == (Import.State.CANCELED, None)
    perform(job.pk)
    assert not Document.objects.filter(project=world.project).exists()


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_canceled_too_late_is_done(world):
    """The worker is lost after it imported the last note and before it stored the last state of the job."""
    row = staged(world)
    client_of(world.manager).post(reverse("job_start_import", args=["covid", row.pk]))
    job = Job.objects.get(kind="import")
    from annotations.transfer.services.importing import run_import

    run_import(import_id=row.pk, progress=take(job.pk).progress)
    Job.objects.filter(pk=job.pk).update(cancel_requested=True, lease_until=timezone.now() - timedelta(seconds=1))
    perform(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["notes"]) == (Job.State.DONE, 2)


def test_a_discarded_import_is_not_started(world):
    row, client = staged(world), client_of(world.manager)
    Import.objects.filter(pk=row.pk).update(state=Import.State.CANCELED)
    response = client.post(reverse("job_start_import", args=["covid", row.pk]))
    assert response.url == reverse("import_preview", args=["covid", row.pk])
    assert not Job.objects.exists()
    assert client.get(reverse("job_of_import", args=["covid", row.pk])).status_code == 404


def test_who_may_start_an_import(world):
    url = reverse("job_start_import", args=["covid", staged(world).pk])
    for role in ("viewer", "reviewer", "annotator"):
        assert client_of(getattr(world, role)).post(url).status_code == 403
    assert client_of(world.stranger).post(url).status_code == 404
    assert client_of(world.manager).get(url).status_code == 405
    assert client_of(world.manager).post(reverse("job_start_import", args=["covid", 987654])).status_code == 404
    assert not Job.objects.exists()


def gold(world):
    note = make.make_note(world.project)
    return make.make_set(note, world.annotator, [(0, 11, "PATIENT")], submitted=True)


@pytest.mark.django_db(transaction=True)
def test_an_export_from_the_click_to_the_file(world):
    gold(world)
    client = client_of(world.reviewer)
    chosen = {"format": "brat", "set": f"annotator:{world.annotator.username}", "token": "t1"}
    first = client.post(reverse("job_start_export", args=["covid"]), chosen)
    job = Job.objects.get(kind="export")
    assert client.post(reverse("job_start_export", args=["covid"]), chosen).url == first.url == url_of(job)
    perform(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["notes"], job.error) == (Job.State.DONE, 1, "")
    assert world.project.stored_files.get(pk=job.result["file_id"]).size > 0
    check_page(client.get(url_of(job)))
    assert client.post(reverse("job_start_export", args=["covid"]), chosen).url == url_of(job), (
        "the same form token gives the same job"
    )
    again = client.post(reverse("job_start_export", args=["covid"]), chosen | {"token": "t2"})
    assert again.url != url_of(job), "a new form token gives a new job"


def test_an_export_without_a_token_is_one_job_until_it_ends(world):
    gold(world)
    chosen = {"format": "conll", "set": f"annotator:{world.annotator.username}"}
    client = client_of(world.reviewer)
    urls = {client.post(reverse("job_start_export", args=["covid"]), chosen).url for _ in range(2)}
    assert len(urls) == Job.objects.count() == 1


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"format": "docx", "set": "gold"}, "docx"),
        ({"format": "brat", "set": "gold:7"}, "no gold version"),
        ({"format": "brat", "set": "annotator:nobody"}, "no such annotation sets"),
        ({}, "There is no format"),
    ],
)
def test_an_impossible_export_is_refused_at_once(world, chosen, words):
    response = client_of(world.reviewer).post(reverse("job_start_export", args=["covid"]), chosen)
    assert response.url == reverse("export", args=["covid"])
    [message] = response.wsgi_request._messages
    assert words in str(message)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_gold_from_the_click_to_the_gold(world):
    annotation_set = gold(world)
    client = client_of(world.reviewer)
    response = client.post(reverse("job_start_gold", args=["covid"]), {"author": annotation_set.author_id})
    job = Job.objects.get(kind="gold")
    assert response.url == url_of(job)
    perform(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["made"], job.result["kept"]) == (Job.State.DONE, 1, 0)
    check_page(client.get(url_of(job)))


@pytest.mark.parametrize("author", ["", "x", "0", str(9**18)])
def test_gold_from_an_unknown_author_is_refused(world, author):
    response = client_of(world.reviewer).post(reverse("job_start_gold", args=["covid"]), {"author": author})
    assert response.url == reverse("gold", args=["covid"])
    assert not Job.objects.exists()


def test_gold_from_another_project_s_author_is_refused(world):
    author = make.make_author(world.other, world.stranger)
    client_of(world.reviewer).post(reverse("job_start_gold", args=["covid"]), {"author": author.pk})
    assert not Job.objects.exists()


@pytest.mark.parametrize("name", ["job_start_export", "job_start_gold"])
def test_who_may_not_start(world, name):
    url = reverse(name, args=["covid"])
    for role in ("viewer", "annotator"):
        assert client_of(getattr(world, role)).post(url).status_code == 403
    assert client_of(world.stranger).post(url).status_code == 404
    assert client_of(world.reviewer).get(url).status_code == 405


def test_a_waiting_job_says_how_many_are_ahead(world, make_job):
    """Jobs of its queue that wait, in any project; not those of other queues, later ones, or ones that run."""
    client = client_of(world.viewer)
    first = make_job("count", project=world.project, actor=world.manager, total=4)
    assert "This job is next in the queue “cpu”." in check_page(client.get(url_of(first)))
    make_job("count", project=world.other, actor=world.stranger, total=4)
    Job.objects.create(project=world.project, kind="count", key="gpu", queue="gpu")
    last = make_job("count", project=world.project, actor=world.manager, total=4)
    make_job("count", project=world.project, actor=world.manager, total=4)
    assert "2 jobs are ahead in the queue “cpu”." in check_page(client.get(url_of(last)))
    Job.objects.filter(pk=first.pk).update(state=Job.State.RUNNING)
    assert "1 job is ahead in the queue “cpu”." in check_page(client.get(url_of(last)))
    Job.objects.filter(pk=last.pk).update(state=Job.State.RUNNING)
    assert "in the queue" not in check_page(client.get(url_of(last)))
