"""Starting jobs: their numbers in the project, and the limits on one person's jobs, for every way to start a job."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.urls import reverse

from annotations.core.services import LimitReached
from annotations.exchange.services.staged import pack, start_import
from annotations.jobs.runner import take
from annotations.jobs.services import queue
from annotations.jobs.services.queue import cancel, enqueue, once, retry
from annotations.models import Import, ImportState, Job, JobState, Share
from models_runtime.core import registry
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.runs.services import runs
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from tests import factories as make
from tests.exchange.brat_files import stage
from tests.jobs.probes.kinds import FAKE
from tests.runs.test_shares import idle
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed, told

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_redis", "probes")]
JOBS, IMPORTS = "/projects/covid/jobs/", "/projects/covid/import/"


@pytest.fixture
def project():
    return make.make_project("covid")


@pytest.fixture
def mia(project, client):
    mia = make.make_member(project, "manager", "mia")
    client.force_login(mia)
    return mia


def start(project, key="k", actor=None):
    return enqueue(kind="export", project=project, params={}, key=key, actor=actor)


def staged(project, actor, text=b"Mario Rossi, 54 anni."):
    return stage(project, pack([("a.txt", text)]), format="text", written_as="", actor=actor)


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_number_leads_to_the_job_of_this_project_only(project, mia, client, make_job):
    other = make.make_project("other")
    theirs, _ = make_job(project=other), make_job(project=other)
    ours = make_job(project=project)
    assert ours.pk != ours.number == theirs.number == 1
    page = check_page(client.get(f"{JOBS}1/"))
    assert "<h1>Count, job 1</h1>" in page and "<title>Count, job 1 · " in page
    assert f'<a href="{JOBS}1/"> Count, job 1</a>' in check_page(client.get(JOBS))
    for address in (f"{JOBS}2/", "/projects/other/jobs/1/"):
        assert client.get(address).status_code == 404
    assert client.post(f"{JOBS}1/cancel").url == f"{JOBS}1/"
    assert [Job.objects.get(pk=job.pk).state for job in (ours, theirs)] == [JobState.CANCELED, JobState.QUEUED]


def test_an_import_has_the_number_of_its_job(project, mia, client, make_job):
    for _ in range(2):
        staged(make.make_project(), None)
        make_job(project=project)
    row = staged(project, mia)
    make.make_member(project, user="ann")  # Where nobody annotates yet, the next page is that of the people.
    preview, report = (reverse(name, args=["covid", row.pk]) for name in ("import_preview", "import_report"))

    def shown():
        assert f'<a href="{preview}">' in check_page(client.get(IMPORTS))
        file = client.get(report)["Content-Disposition"].partition("filename=")[2]
        return check_page(client.get(preview)).partition("<h1>")[2].partition("</h1>")[0], file

    assert "<h1>Import preview</h1>" in check_page(client.get(preview))
    job_url = client.post(reverse("job_start_import", args=["covid", row.pk])).url
    assert job_url == f"{JOBS}3/" and "<h1>Import, job 3</h1>" in check_page(client.get(job_url))
    assert shown() == ("Import 3", '"covid-import-3.csv"')
    row = Import.objects.create(project=project, format="text", state=ImportState.CANCELED)
    preview, report = (reverse(name, args=["covid", row.pk]) for name in ("import_preview", "import_report"))
    assert shown() == ("Import", '"covid-import.csv"')


# ── Numbers are dense, unique and never given twice ──────────────────────────────────────────────────────────────────
def test_a_repeated_or_failed_start_takes_no_number(project, mia, monkeypatch):
    assert [start(project, "a", mia).number, start(project, "a", mia).number] == [1, 1]
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start(project, "b")
        1 / 0  # noqa: B018
    with pytest.raises(IntegrityError):
        start(make.make_project("other"), "a")
    monkeypatch.setattr(queue, "MOST_LIVE", 1)
    with pytest.raises(LimitReached):
        start(project, "c", mia)
    assert start(project, "d").number == 2


def test_a_number_is_never_given_again(project):
    job = start(project, "a")
    make.change(job, error="It fell over.")
    job.refresh_from_db()
    project.save()  # an outdated copy
    assert (job.number, start(project, "b").number) == (1, 2)
    start(project, "c").delete()
    assert start(project, "d").number == 4
    with pytest.raises(IntegrityError):
        Job.objects.bulk_create([Job(project=project, kind="count", key="e", number=1)])
    Job.objects.bulk_create([Job(project=make.make_project(), kind="count", key="e", number=1)])


# ── At the same time ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_simultaneous_starts_get_different_numbers(project, at_once):
    people = [make.make_member(project, "manager", name) for name in ("ann", "ben", "cleo")]
    started = at_once(*(lambda who=who: once("count", project, {}, who, "t").number for who in people))
    assert sorted(started) == [1, 2, 3]


def test_one_persons_simultaneous_starts_of_several_types_all_succeed(project, mia, at_once):
    """A start locks the project before the person, however it begins; otherwise two of them could block each other."""
    for attempt in range(5):
        row = staged(project, mia, text=f"Visit {attempt}".encode())
        at_once(
            lambda row=row: start_import(project=project, import_id=row.pk, actor=mia),
            lambda n=attempt: once("count", project, {"n": n}, mia, "a"),
            lambda n=attempt: start(project, f"k{n}", mia),
        )
    assert sorted(Job.objects.filter(project=project).values_list("number", flat=True)) == list(range(1, 16))


# ── Limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def note(project, monkeypatch):
    """A note of the project, in which a person may have two jobs."""
    monkeypatch.setattr(queue, "MOST_LIVE", 2)
    return make.make_note(project, "Mario Rossi")


@pytest.fixture
def full(project, mia, note):
    """The person has as many jobs as allowed."""
    return [start(project, f"job-{number}", mia) for number in range(2)]


def test_a_page_gives_the_number_of_jobs_and_creates_nothing(full, client):
    url, run = reverse("run_start", args=["covid"]), {"backend": "rules", "token": "a"}
    page = client.post(url, run)
    assert (page.status_code, page.headers["Retry-After"]) == (429, "60")
    fragment = client.post(url, run, headers={"HX-Request": "true"})
    assert fragment.status_code == 429 and "You have 2 waiting" in fragment.text
    assert fragment.text in page.text and reverse("jobs", args=["covid"]) in page.text
    script = client.post(url, run, headers={"Accept": "application/json"})
    assert (script.status_code, script.json()) == (429, {"error": "jobs", "message": fragment.text})
    assert not Run.objects.exists() and Job.objects.count() == 2
    # After one job has ended, another one can start.
    cancel(Job.objects.first())
    assert client.post(url, run).status_code == 302 and Run.objects.count() == 1


def test_exports_are_limited_and_the_same_form_twice_counts_once(project, mia, client, note):
    make.make_set(note, "gold", [(0, 5, "PATIENT")])
    form, url = {"set": "gold", "format": "brat", "token": "a"}, reverse("job_start_export", args=["covid"])
    assert [client.post(url, form).status_code for _ in range(4)] == [302] * 4 and Job.objects.count() == 1
    assert client.post(url, form | {"format": "conll"}).status_code == 302
    assert client.post(url, form).status_code == 302  # accepted despite the limit, since this job exists already
    assert client.post(url, form | {"format": "text"}).status_code == 429


def test_the_limit_is_per_person_and_project_and_not_for_commands_without_a_user(project, mia, full):
    row = Import.objects.create(project=project, format="text", state=ImportState.STAGED, created_by=mia)
    with pytest.raises(LimitReached):
        start(project, "one more", mia)
    with pytest.raises(LimitReached):
        start_import(project=project, import_id=row.pk, actor=mia)
    assert make.reread(row).state == ImportState.STAGED
    start(project, "of another person", make.make_member(project, "manager", "max"))
    start(make.make_project("other"), "in another project", mia)
    for number in range(5):
        start(project, f"of nobody {number}", None)


def test_paused_and_restarted_jobs_count(project, mia, full):
    Job.objects.update(state=JobState.PAUSED)
    with pytest.raises(LimitReached):
        start(project, "one more", mia)
    first = Job.objects.order_by("pk").first()
    Job.objects.filter(pk=first.pk).update(state=JobState.FAILED)
    start(project, "in its place", mia)
    first.refresh_from_db()
    with pytest.raises(LimitReached):
        retry(first)
    assert make.reread(first).state == JobState.FAILED


def test_the_number_of_jobs_per_hour_is_limited(project, mia, monkeypatch):
    monkeypatch.setattr(queue, "MOST_AN_HOUR", 3)
    for number in range(3):
        start(project, f"job-{number}", mia)
        Job.objects.update(state=JobState.DONE)
    with pytest.raises(LimitReached, match="3 jobs in this project within an hour"):
        start(project, "one more", mia)
    Job.objects.filter(key="job-0").update(created_at=Now() - timedelta(hours=2))
    start(project, "one more", mia)


def test_a_command_with_a_user_fails_with_the_message(full):
    assert answered("run_model", "covid", "rules", "--by", "mia") == "jobs"
    with pytest.raises(CommandError, match="You have 2 waiting"):
        printed("run_model", "covid", "rules", "--by", "mia")
    assert "(job 3: Waiting for a worker)" in printed("run_model", "covid", "rules") and Run.objects.count() == 1


def test_two_simultaneous_requests_do_not_both_pass_the_limit(project, mia, note, at_once):
    start(project, "one", mia)

    def one_more(key: str) -> bool:
        with suppress(LimitReached), transaction.atomic():
            return bool(start(project, key, mia))
        return False

    assert sorted(at_once(lambda: one_more("a"), lambda: one_more("b"))) == [False, True] and Job.objects.count() == 2


# The queue of a job, and the messages when no worker serves that queue.


@pytest.fixture
def ward(monkeypatch):
    monkeypatch.setitem(registry.BACKENDS, "fake", registry.BackendKind(FAKE.title, FAKE.factory, "", queue="gpu"))
    ward = make.make_project("covid")
    make.make_note(ward)
    return ward


@pytest.fixture
def run(ward):
    return runs.start_run(project=ward, backend="fake", actor=None, key="k")


@pytest.fixture
def show(run, client):
    """Return the page of the run, as a manager sees it."""
    client.force_login(make.make_member(run.project, "manager"))
    return lambda: check_page(client.get(reverse("run", args=["covid", run.pk])))


def test_a_run_goes_to_its_backend_s_queue_and_so_does_its_retry(run):
    assert Job.objects.get().queue == "gpu"
    Job.objects.update(state=JobState.FAILED)
    runs.retry_failed(run=run, actor=None)
    assert set(Job.objects.values_list("queue", flat=True)) == {"gpu"} and Job.objects.count() == 2
    assert "gpu: Redis does not respond" in printed("queues")


def test_models_and_ensembles_go_to_the_queue_that_their_kinds_need(ward, monkeypatch):
    members = [MemberChoice("rules"), MemberChoice("fake")]
    start_ensemble(project=ward, members=members, method="union", actor=None, key="k")
    assert Job.objects.get().queue == "gpu", "as its most demanding member"
    monkeypatch.setitem(registry.TRAINABLE, "crf", replace(registry.TRAINABLE["crf"], queue="llm"))
    model = TrainedModel.objects.create(project=ward, name="ours", backend="crf", state=TrainedModelState.READY)
    runs.start_run(project=ward, backend=model.name, actor=None, key="trained")
    assert Job.objects.latest("pk").queue == "llm"


def test_the_run_s_page_gives_the_number_of_workers_and_shows_an_unfinished_pause(run, show):
    take(run.job_id)
    live, late = Now() + timedelta(minutes=1), Now() - timedelta(minutes=1)
    for number, until in enumerate((live, live, late)):
        Share.objects.create(job_id=run.job_id, token=uuid4(), first=number, last=number, lease_until=until)
    assert "2 workers" in show()
    Job.objects.update(state=JobState.PAUSED)
    html = show()
    assert "Pausing" in html and "hx-trigger" in html, "two workers still finish the notes they hold"
    Share.objects.all().delete()
    html = show()
    assert "Paused" in html and "X-Background" not in html


def test_the_command_shows_each_queue_and_fails_where_jobs_wait_without_a_worker(run, redis_server):
    idle(redis_server.client(), "a"), idle(redis_server.client(), "b", "busy")
    with pytest.raises(CommandError, match=r"no worker is running: gpu \(1\)"):
        printed("queues")
    idle(redis_server.client(), "c", queue="gpu")
    said = printed("queues")
    assert "cpu: 2 workers, 1 idle; jobs: 0 running, 0 waiting\n" in said
    assert "jobs: 0 running, 1 waiting (the oldest for " in said and "manage.py work --queue llm;" in said
    take(run.job_id)
    _, gpu, _ = told("queues")["queues"]
    assert (gpu["workers"], gpu["idle"], gpu["waiting"], gpu["running"], gpu["stuck"]) == (1, 1, 0, 1, False)
