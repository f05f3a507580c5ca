"""The numbers of jobs: each project counts its own jobs from 1. Pages, addresses and commands use these numbers."""

import io
import json

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotations.core.errors import LimitReached
from annotations.jobs.services import allowance
from annotations.jobs.services.queue import enqueue
from annotations.jobs.services.starting import once
from annotations.models import Import, Job
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_import
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_redis", "probes")]


@pytest.fixture
def project():
    return make.make_project("covid")


@pytest.fixture
def mia(project, client):
    mia = make.make_member(project, "manager", "mia")
    client.force_login(mia)
    return mia


def start(project, key="k", actor=None):
    return enqueue(kind="count", project=project, params={}, key=key, actor=actor)


def numbers(project):
    return sorted(Job.objects.filter(project=project).values_list("number", flat=True))


def staged(project, actor, text=b"Mario Rossi, 54 anni."):
    content = pack([("a.txt", text)])
    return stage_import(
        project=project, name="notes.zip", content=content, format="text", written_as="", language="",
        take_duplicates=False, actor=actor,
    )  # fmt: skip


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_first_job_of_a_project_is_number_1_whatever_other_projects_did(project, mia, client, make_job):
    other = make.make_project("other")
    for _ in range(3):
        make_job(project=other)
    job = make_job(project=project)
    assert job.pk != job.number == 1
    page = check_page(client.get("/projects/covid/jobs/1/"))
    assert "<h1>Count, job 1</h1>" in page and "<title>Count, job 1 · " in page
    jobs = check_page(client.get(reverse("jobs", args=["covid"])))
    assert '<a href="/projects/covid/jobs/1/">Count, job 1</a>' in jobs


def test_a_number_leads_to_the_job_of_this_project_only(project, mia, client, make_job):
    other = make.make_project("other")
    for owner in (project, other, other):
        make_job(project=owner)
    assert client.get("/projects/covid/jobs/2/").status_code == 404
    assert client.get("/projects/other/jobs/1/").status_code == 404


def test_buttons_act_on_the_job_of_this_project(project, mia, client, make_job):
    theirs, ours = make_job(project=make.make_project("other")), make_job(project=project)
    assert theirs.number == ours.number == 1
    answer = client.post("/projects/covid/jobs/1/cancel")
    assert answer.url == "/projects/covid/jobs/1/"
    ours.refresh_from_db()
    theirs.refresh_from_db()
    assert (ours.state, theirs.state) == (Job.State.CANCELED, Job.State.QUEUED)


def test_an_import_has_the_number_of_its_job(project, mia, client, make_job):
    for _ in range(2):
        staged(make.make_project(), None)
        make_job(project=project)
    row = staged(project, mia)
    url = reverse("import_preview", args=["covid", row.pk])
    assert "<h1>Import preview</h1>" in check_page(client.get(url))
    job_url = client.post(reverse("job_start_import", args=["covid", row.pk])).url
    assert job_url == "/projects/covid/jobs/3/"
    assert "<h1>Import, job 3</h1>" in check_page(client.get(job_url))
    assert "<h1>Import 3</h1>" in check_page(client.get(url))
    assert f'<a href="{url}">Import 3</a>' in check_page(client.get(reverse("import", args=["covid"])))
    report = client.get(reverse("import_report", args=["covid", row.pk]))
    assert report["Content-Disposition"] == 'attachment; filename="covid-import-3.csv"'


def test_an_import_without_a_job_has_no_number(project, mia, client):
    row = Import.objects.create(project=project, format="text", state=Import.State.CANCELED)
    url = reverse("import_preview", args=["covid", row.pk])
    assert "<h1>Import</h1>" in check_page(client.get(url))
    assert f'<a href="{url}">Import</a>' in check_page(client.get(reverse("import", args=["covid"])))
    report = client.get(reverse("import_report", args=["covid", row.pk]))
    assert report["Content-Disposition"] == 'attachment; filename="covid-import.csv"'


def test_a_command_prints_the_number(project, make_job):
    for _ in range(2):
        make_job(project=make.make_project())
    make.make_note(project, "Mario Rossi")
    out = io.StringIO()
    call_command("run_model", "covid", "rules", json=True, stdout=out)
    assert json.loads(out.getvalue())["job"] == 1
    out = io.StringIO()
    call_command("run_model", "covid", "rules", stdout=out, stderr=io.StringIO())
    assert "(job 2: Waiting for a worker)" in out.getvalue()


# ── Numbers are dense, unique and never given twice ──────────────────────────────────────────────────────────────────
def test_a_repeated_or_failed_start_takes_no_number(project, mia, monkeypatch):
    assert [start(project, "a", mia).number, start(project, "a", mia).number] == [1, 1]
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start(project, "b")
        1 / 0  # noqa: B018
    with pytest.raises(IntegrityError):
        start(make.make_project("other"), "a")
    monkeypatch.setattr(allowance, "MOST_LIVE", 1)
    with pytest.raises(LimitReached):
        start(project, "c", mia)
    assert start(project, "d").number == 2


def test_the_number_of_a_deleted_job_is_not_given_again(project):
    start(project, "a")
    start(project, "b").delete()
    assert start(project, "c").number == 3


def test_a_saved_job_keeps_its_number(project):
    job = start(project)
    job.error = "It fell over."
    job.save()
    job.refresh_from_db()
    assert (job.number, start(project, "b").number) == (1, 2)


def test_an_outdated_copy_of_the_project_does_no_harm(project):
    start(project, "a")
    project.save()
    assert start(project, "b").number == 2


def test_the_database_refuses_a_number_that_exists(project):
    start(project)
    with pytest.raises(IntegrityError):
        Job.objects.bulk_create([Job(project=project, kind="count", key="b", number=1)])
    Job.objects.bulk_create([Job(project=make.make_project(), kind="count", key="b", number=1)])


# ── At the same time ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_simultaneous_starts_get_different_numbers(project, at_once):
    people = [make.make_member(project, "manager", name) for name in ("ann", "ben", "cleo")]
    started = at_once(*(lambda who=who: once("count", project, {}, who, "t").number for who in people))
    assert sorted(started) == numbers(project) == [1, 2, 3]


def test_one_persons_simultaneous_starts_of_several_types_all_succeed(project, mia, at_once):
    """A start locks the project before the person, however it begins; otherwise two of them could block each other."""
    for attempt in range(5):
        row = staged(project, mia, text=f"Visit {attempt}".encode())
        at_once(
            lambda row=row: start_import(project=project, import_id=row.pk, actor=mia),
            lambda n=attempt: once("count", project, {"n": n}, mia, "a"),
            lambda n=attempt: start(project, f"k{n}", mia),
        )
    assert numbers(project) == list(range(1, 16))
