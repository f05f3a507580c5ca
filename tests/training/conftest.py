"""A small project with an invented, frozen gold standard: names after titles, towns, dates."""

import random
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.jobs.services.relay import sweep
from annotations.models import Job, JobState
from models_runtime.backends import children
from models_runtime.core import external
from models_runtime.models import TrainedModel
from models_runtime.runs.services.runs import start_run
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.backends.made_weights import TINY, bert_folder, tiny_bert
from tests.held import fresh, made_once
from tests.worlds.queue import worked

NAMES = ["Anna Bianchi", "Luis Otero", "Carmen Huerta", "Marco Rossi", "Eva Sanz", "Paolo Conti", "Rita Neri"]
TOWNS = ["Madrid", "Burgos", "Torino", "Bari", "Lecce"]


def made_notes(count):
    """Invented notes: (text, [(start, end, label)])."""
    chance = random.Random(11)
    for _ in range(count):
        text, spans = "", []
        for before, label, value in (
            ("Paziente: ", "PATIENT", chance.choice(NAMES)),
            (". Visto il ", "DATE", f"{chance.randint(1, 28):02}/03/20{chance.randint(10, 20)}"),
            (" a ", "CITY", chance.choice(TOWNS)),
            (" dal dott. ", "DOCTOR", chance.choice(NAMES)),
        ):
            text += before
            spans.append((len(text), len(text) + len(value), label))
            text += value
        yield text + ".\nDolore toracico, riposo e controllo.\n", spans


def fill(project, count=20):
    for number, (text, spans) in enumerate(made_notes(count)):
        note = make.make_note(project, text, f"caso-{number:02}", patient_id=f"p{number // 2}", language="it")
        make.make_set(note, "gold", spans)
    return freeze(project=project, actor=None)[0]


def build_world():
    """Twenty gold notes of ten patients, frozen as version 1; two notes without gold; three members."""
    project = make.make_project("ward")
    version = fill(project)
    for number, (text, _) in enumerate(made_notes(2)):
        make.make_note(project, text + " ", f"altro-{number}")
    people = {role: make.make_member(project, role, role) for role in ("manager", "reviewer", "viewer")}
    return SimpleNamespace(project=project, version=version, **people)


made_gold, world = made_once(build_world, "long_lease", name="made_gold")


def train(world, key="k", **options):
    """Train a model in this process's queue. Return the model and its job."""
    model = start_training(project=world.project, gold=1, actor=world.manager, key=key, **{"iterations": 8, **options})
    worked(model)
    return model, Job.objects.get(pk=model.job_id)


@pytest.fixture
def trained(world):
    """`trained(**options)`: train a model; returns the model and the job."""
    return partial(train, world)


@pytest.fixture(scope="module")
def made_model(once, made_gold):
    return once(lambda: train(made_gold, iterations=5)[0])


@pytest.fixture
def model(world, made_model):
    """A trained model, which all later tests of the module see."""
    return fresh(made_model, lambda: train(world, iterations=5)[0])


def page(name, *arguments):
    """The address of a page of the project `ward`."""
    return reverse(name, args=["ward", *arguments])


@pytest.fixture
def manager(world, client):
    """The browser of the manager."""
    client.force_login(world.manager)
    return client


def refused(world, why, **options):
    """Check that a training can't start for this reason. Return the code."""
    with pytest.raises(ServiceError, match=why) as caught:
        start_training(project=world.project, actor=None, key="refused", **{"gold": 1, **options})
    return caught.value.code


def at_step(monkeypatch, step, act, *, refit=False):
    """Call `act` when a training, or its refit, reports this iteration, before the report is written."""
    train = children.train

    def watched(*words, on_step, options, **more):
        def tell(said):
            if said and said.get("iteration") == step and ("refit" in options) == refit:
                act()
            return on_step(said)

        return train(*words, on_step=tell, options=options, **more)

    monkeypatch.setattr(children, "train", watched)
    monkeypatch.setattr("models_runtime.training.jobs.watching.WRITE_EVERY", 0)
    monkeypatch.setattr("annotations.jobs.runner.claims.WRITE_EVERY", 0)


def resumed(model):
    """Let another worker continue after the lease of the killed one ran out."""
    Job.objects.filter(pk=model.job_id).update(lease_until=Now() - timedelta(seconds=1))
    sweep()
    work(model.job_id)
    return TrainedModel.objects.get(pk=model.pk)


def run_of(project, backend, key="run", **options):
    """A run that has ended well."""
    run = worked(start_run(project=project, backend=backend, actor=None, key=f"{key}-{project.pk}", **options))
    job = Job.objects.get(pk=run.job_id)
    assert job.state == JobState.DONE, job.error
    return run


def content_of(model):
    return b"".join(bytes(chunk.data) for chunk in model.stored_file.chunks.order_by("number"))


@pytest.fixture(scope="session")
def made_weights(tmp_path_factory):
    """A tiny BERT, one with so few pieces that words have several, and a tiny tagger."""
    home, texts = tmp_path_factory.mktemp("weights"), [text for text, _ in made_notes(40)]
    tiny_bert(home / "tiny-bert", texts)
    bert_folder(home / "few-pieces", texts, (), positions=64, pieces=110, **TINY)
    tiny_bert(home / "tiny-tagger", texts, ["O", "B-PER", "I-PER", "B-CITY", "I-CITY"])
    return home


@pytest.fixture
def home(made_weights, monkeypatch):
    monkeypatch.setattr(external, "weights_home", lambda: made_weights)
    return made_weights
