"""What the tests of this feature share with others."""

import uuid

import pytest
from django.urls import reverse

from annotations.models import Document, Job
from tests import factories as make
from tests.worlds.commands import told as command
from tests.worlds.queue import worked

__all__ = ["command"]


def project_of(count):
    """A project with so many notes, each with two capital letters."""
    project = make.make_project()
    Document.objects.bulk_create(
        Document(project=project, name=f"n{n:03}", sha256=f"{n:064}", length=13, text=f"Mario Rossi {n}")
        for n in range(count)
    )
    return project


@pytest.fixture
def manager(project, client):
    """The browser of mia, who manages the project of the test's file."""
    client.force_login(make.make_member(project, "manager", "mia"))
    return client


def asked(client, **data):
    """The answer to the form of a language model."""
    data = {"model": "ward small", "language": "it", "token": str(uuid.uuid4())} | data
    return client.post(reverse("run_llm", args=["covid"]), data)


def finished(run):
    """Let a worker do the run's job, and read the run anew. Return the job."""
    run.refresh_from_db()
    worked(run)
    return Job.objects.get(pk=run.job_id)
