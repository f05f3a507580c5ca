"""The limits on one person's jobs in a project, for every way to start a job."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from annotations.core.errors import LimitReached
from annotations.jobs.services import allowance, queue
from annotations.models import Author, Import, Job, Project, User
from models_runtime.models import Run
from tests.factories import make_member, make_note, make_project, make_set

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(allowance, "MOST_LIVE", 2)
    project = make_project("covid")
    make_note(project, "Mario Rossi")
    return project


@pytest.fixture
def mia(project: Project) -> User:
    return make_member(project, "manager", "mia")


def made(project: Project, actor: User | None, key: str) -> Job:
    return queue.enqueue(kind="export", project=project, params={"n": key}, key=key, actor=actor)


def make_gold_set(project: Project) -> None:
    author = Author.objects.create(project=project, kind=Author.Kind.GOLD, name="gold")
    make_set(project.documents.get(), author, [(0, 5, "PATIENT")], submitted=True)


def full(project: Project, actor: User) -> None:
    for number in range(2):
        made(project, actor, f"job-{number}")


def test_a_page_gives_the_number_of_jobs_and_creates_nothing(project, mia, client):
    full(project, mia)
    client.force_login(mia)
    run = {"backend": "rules", "token": "a"}
    page = client.post(reverse("run_start", args=["covid"]), run)
    assert (page.status_code, page.headers["Retry-After"]) == (429, "60")
    words = "You have 2 waiting, running or paused jobs in this project. Wait until one finishes, or cancel one."
    assert words in page.content.decode()
    assert reverse("jobs", args=["covid"]) in page.content.decode()
    fragment = client.post(reverse("run_start", args=["covid"]), run, headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.content.decode()) == (429, words)
    script = client.post(reverse("run_start", args=["covid"]), run, headers={"Accept": "application/json"})
    assert (script.status_code, script.json()) == (429, {"error": "jobs", "message": words})
    assert not Run.objects.exists()
    assert Job.objects.count() == 2
    # After one job has ended, another one can start.
    queue.cancel(Job.objects.first())
    assert client.post(reverse("run_start", args=["covid"]), run).status_code == 302
    assert Run.objects.count() == 1


def test_exports_are_limited_and_the_same_form_twice_counts_once(project, mia, client):
    make_gold_set(project)
    client.force_login(mia)
    form = {"set": "gold", "format": "brat", "token": "a"}
    url = reverse("job_start_export", args=["covid"])
    answers = [client.post(url, form) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [302] * 4
    assert Job.objects.count() == 1
    assert client.post(url, form | {"format": "conll"}).status_code == 302
    assert client.post(url, form).status_code == 302  # accepted despite the limit, since this job exists already
    assert client.post(url, form | {"format": "text"}).status_code == 429


def test_a_refused_import_stays_staged(project, mia, client):
    full(project, mia)
    row = Import.objects.create(project=project, format="text", state=Import.State.STAGED, created_by=mia)
    client.force_login(mia)
    assert client.post(reverse("job_start_import", args=["covid", row.pk])).status_code == 429
    row.refresh_from_db()
    assert row.state == Import.State.STAGED


def test_the_limit_is_per_person_and_project_and_not_for_commands_without_a_user(project, mia):
    full(project, mia)
    with pytest.raises(LimitReached):
        made(project, mia, "one more")
    made(project, make_member(project, "manager", "max"), "of another person")
    other = make_project("other")
    made(other, mia, "in another project")
    for number in range(5):
        made(project, None, f"of nobody {number}")


def test_paused_and_restarted_jobs_count(project, mia):
    full(project, mia)
    Job.objects.update(state=Job.State.PAUSED)
    with pytest.raises(LimitReached):
        made(project, mia, "one more")
    first = Job.objects.order_by("pk").first()
    Job.objects.filter(pk=first.pk).update(state=Job.State.FAILED)
    made(project, mia, "in its place")
    first.refresh_from_db()
    with pytest.raises(LimitReached):
        queue.retry(first)
    first.refresh_from_db()
    assert first.state == Job.State.FAILED


def test_the_number_of_jobs_per_hour_is_limited(project, mia, monkeypatch):
    monkeypatch.setattr(allowance, "MOST_AN_HOUR", 3)
    for number in range(3):
        made(project, mia, f"job-{number}")
        Job.objects.update(state=Job.State.DONE)
    with pytest.raises(LimitReached, match="3 jobs in this project within an hour"):
        made(project, mia, "one more")
    Job.objects.filter(key="job-0").update(created_at=Now() - timedelta(hours=2))
    made(project, mia, "one more")


def test_a_command_with_a_user_fails_with_the_message(project, mia):
    full(project, mia)
    out = io.StringIO()
    with pytest.raises(CommandError, match="You have 2 waiting"):
        call_command("run_model", "covid", "rules", by="mia", json=True, stdout=out)
    assert json.loads(out.getvalue())["code"] == "jobs"
    call_command("run_model", "covid", "rules", json=True, stdout=io.StringIO())
    assert Run.objects.count() == 1


def test_two_simultaneous_requests_do_not_both_pass_the_limit(project, mia, at_once):
    made(project, mia, "one")

    def one_more(key: str) -> str:
        try:
            with transaction.atomic():
                made(project, mia, key)
        except LimitReached:
            return "refused"
        return "made"

    assert sorted(at_once(lambda: one_more("a"), lambda: one_more("b"))) == ["made", "refused"]
    assert Job.objects.count() == 2
