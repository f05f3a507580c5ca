"""A project with gold and a run, and three judges on a scripted server, for tests of judges."""

import json
import uuid

import pytest
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.models import Author, Job, JobState
from models_runtime.models import Judging
from tests import factories as make
from tests.backends.llm.scripted import offered
from tests.backends.llm.test_judging import verdicts
from tests.worlds.queue import worked

# The dose is hidden by mistake, the town is readable, and the name is there twice, once readable.
TEXT = "Mario Rossi, 54 anni, prende 30 mg. Visto a Torino. Mario Rossi torna"
ROSSI, AGE, DOSE, CITY, AGAIN = (
    (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE"), (44, 50, "CITY"), (52, 63, "PATIENT"),
)  # fmt: skip


def honest(body):
    return json.dumps({"entities": verdicts(body)})


def ward(settings, script):
    """Three judges of one server: one, two and three."""
    return offered(settings, script, WARD_MODELS="one two three")


def judged_project(notes=1, text=TEXT, gold_spans=(ROSSI, AGE, CITY, AGAIN), run_spans=(ROSSI, AGE, DOSE)):
    project = make.make_project("covid", name="Covid ward")
    gold, run = (make.make_author(project, kind=kind, name=kind) for kind in ("gold", "run"))
    for number in range(notes):
        note = make.make_note(project, f"{text} {number}.", f"n{number}", patient_id=f"p{number}")
        make.make_set(note, gold, gold_spans, submitted=True)
        make.make_set(note, run, run_spans, submitted=True)
    freeze(project=project, actor=None)
    return project


def ask(client, **options):
    """Send the form: all three judges, gold version 1, the run, and the options."""
    data = {"gold": "1", "author": str(Author.objects.get(kind="run").pk), "token": str(uuid.uuid4())}
    judges = {"judge": ("ward one", "ward two", "ward three"), "language": "it", "rules": "standard"}
    return client.post(reverse("judge", args=["covid"]), data | judges | options)


def asked(client, **options):
    """Send the form and do the work."""
    assert ask(client, **options).status_code == 302
    judging = Judging.objects.first()
    assert judging is not None and judging.job_id is not None
    worked(judging)
    job = Job.objects.get(pk=judging.job_id)
    assert (job.state, job.error) == (JobState.DONE, "")
    return judging


@pytest.fixture
def project(request):
    """The project with one note, or as many as a test asks for."""
    return judged_project(getattr(request, "param", 1))


@pytest.fixture
def client(project, client):
    client.force_login(make.make_member(project, "manager", "mia"))
    return client
