"""A small project with an invented, frozen gold standard: names after titles, towns, dates."""

import random
from functools import partial
from types import SimpleNamespace

import pytest

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Job
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.held import fresh
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["make_job", "no_redis", "probes", "processes", "redis_server"]

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
    gold = make.make_author(project, kind="gold", name="gold")
    for number, (text, spans) in enumerate(made_notes(count)):
        note = make.make_note(project, text, f"caso-{number:02}", patient_id=f"p{number // 2}", language="it")
        make.make_set(note, gold, spans, submitted=True)
    return freeze(project=project, actor=None)[0]


def build_world():
    """Twenty gold notes of ten patients, frozen as version 1; two notes without gold; three members."""
    project = make.make_project("ward")
    version = fill(project)
    for number, (text, _) in enumerate(made_notes(2)):
        make.make_note(project, text + " ", f"altro-{number}")
    people = {role: make.make_member(project, role, role) for role in ("manager", "reviewer", "viewer")}
    return SimpleNamespace(project=project, version=version, **people)


@pytest.fixture(scope="module")
def made_gold(once):
    return once(build_world)


@pytest.fixture
def world(db, no_redis, settings, made_gold):
    # The heartbeat's connection doesn't see the job in the test's transaction, and would end the lease of a slow test.
    settings.JOB_LEASE_SECONDS = 3600
    return fresh(made_gold, build_world)


def train(world, key="k", **options):
    """Train a model in this process's queue. Return the model and its job."""
    model = start_training(project=world.project, gold=1, actor=world.manager, key=key, **{"iterations": 8, **options})
    work(model.job_id)
    model.refresh_from_db()
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
