"""A project with gold and a run, and three judges on a scripted server, for tests of judges."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Author, Job, JobState, Project
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Judging
from tests import factories as make
from tests.backends.llm.scripted import Script, Scripted, serving
from tests.backends.llm.test_judging import verdicts

# The dose is hidden by mistake, the town is readable, and the name is there twice, once readable.
TEXT = "Mario Rossi, 54 anni, prende 30 mg. Visto a Torino. Mario Rossi torna"
ROSSI, AGE, DOSE, CITY, AGAIN = (
    (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE"), (44, 50, "CITY"), (52, 63, "PATIENT"),
)  # fmt: skip


def honest(body: dict[str, Any]) -> str:
    return json.dumps({"entities": verdicts(body)})


@contextmanager
def ward(settings: Any, script: Script) -> Iterator[Scripted]:
    """Three judges of one server: one, two and three."""
    with serving(script) as server:
        settings.LLM_SERVERS = read_servers(
            {"DEIDREVIEW_LLM_SERVERS": f"ward={server.url}", "DEIDREVIEW_LLM_WARD_MODELS": "one two three"}
        )
        yield server


def judged_project(notes: int = 1) -> Project:
    project = make.make_project("covid", name="Covid ward")
    gold, run = (make.make_author(project, kind=kind, name=kind) for kind in ("gold", "run"))
    for number in range(notes):
        note = make.make_note(project, f"{TEXT} {number}.", f"n{number}", patient_id=f"p{number}")
        make.make_set(note, gold, [ROSSI, AGE, CITY, AGAIN], submitted=True)
        make.make_set(note, run, [ROSSI, AGE, DOSE], submitted=True)
    freeze(project=project, actor=None)
    return project


def ask(client: Any, **options: str) -> Any:
    """Send the form: all three judges, gold version 1, the run, and the options."""
    data = {"gold": "1", "author": str(Author.objects.get(kind="run").pk), "token": str(uuid.uuid4())}
    judges = {"judge": ("ward one", "ward two", "ward three"), "language": "it", "rules": "standard"}
    return client.post(reverse("judge", args=["covid"]), data | judges | options)


def asked(client: Any, **options: str) -> Judging:
    """Send the form and do the work."""
    assert ask(client, **options).status_code == 302
    judging = Judging.objects.first()
    assert judging is not None and judging.job_id is not None
    work(judging.job_id)
    judging.refresh_from_db()
    job = Job.objects.get(pk=judging.job_id)
    assert (job.state, job.error) == (JobState.DONE, "")
    return judging


@pytest.fixture
def client(project: Project, client: Client) -> Client:
    client.force_login(make.make_member(project, "manager", "mia"))
    return client
