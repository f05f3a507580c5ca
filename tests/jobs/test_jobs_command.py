"""The command that lists, cancels, pauses, resumes and retries jobs."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Job
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db]


def jobs(*words):
    """Return the result, and whether the command failed."""
    out = io.StringIO()
    try:
        call_command("jobs", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue()), True
    return json.loads(out.getvalue()), False


@pytest.fixture
def job(probes, no_redis, make_job):
    project = make.make_project("covid")
    return make_job("count", project=project, actor=make.make_member(project, "manager", "boss"), total=4)


def test_jobs_are_listed_and_controlled(job):
    assert [(row["number"], row["state"]) for row in jobs("covid")[0]["jobs"]] == [(1, "queued")]
    for word, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "canceled"), ("retry", "queued")):
        assert jobs("covid", 1, f"--{word}")[0]["state"] == state
    assert jobs("covid", 1, "--wait")[0]["state"] == "done"


def test_a_job_that_failed_is_a_failure_to_wait_for(job):
    Job.objects.update(state=Job.State.FAILED, error="A reason.")
    assert jobs("covid", 1)[1] is False
    result, failed = jobs("covid", 1, "--wait")
    assert failed and result["failed"] == "A reason."


def test_who_may_control_a_job(job):
    make.make_member(job.project, "annotator", "anna")
    assert jobs("covid", 1, "--cancel", "--by", "anna")[0]["code"] == "access"
    assert jobs("covid", 1, "--cancel", "--by", "boss")[0]["state"] == "canceled"


def test_a_job_that_is_not_there(job):
    assert jobs("covid", 2)[0]["code"] == "job"
    assert jobs("covid", "--cancel")[0]["code"] == "job"
