"""What the tests of this feature share: forty invented notes with gold, frozen, and a run that marks too much."""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Project, Span
from annotations.projects.services.projects import create_project
from models_runtime.models import InjectedRun
from models_runtime.refining.jobs.refining import result_of
from models_runtime.refining.services.bench import authors_on, score_authors
from models_runtime.refining.services.injecting import start_injection
from models_runtime.refining.services.refining import RefinementChoice, start_refinement
from tests import factories as make
from tests.held import made_once

GIVEN = ["Anna", "Bruno", "Carla", "Dario", "Elena", "Fabio", "Gina", "Hugo"]
FAMILY = ["Rossi", "Neri", "Bruni", "Galli", "Costa"]
CITIES = ["Torino", "Milano", "Bologna", "Genova"]
NOTE = (
    "Paziente: {patient}\nEtà: {age} anni\nRicoverata a {city} il {day}/03/2021 dal dott. {doctor}.\n"
    "Ematuria di colore rosso, PA 130/80, PCR 12, morbo di Crohn. Visita in cardiologia."
)
# The run `few`: notes, and annotations in each.
NOTES, PER_NOTE = 3, 9
WRONG = {"rosso": "PATIENT", "130/80": "DATE", "Crohn": "PATIENT", "cardiologia": "HOSPITAL"}


def note_of(number):
    """The text of a note, and its identifiers with their labels."""
    patient = f"{GIVEN[number % 8]} {FAMILY[number % 5]}"
    doctor = FAMILY[(number + 2) % 5]
    age, day, city = 30 + number, 10 + number % 18, CITIES[number % 4]
    text = NOTE.format(patient=patient, age=age, city=city, day=day, doctor=doctor)
    named = {patient: "PATIENT", str(age): "AGE", city: "CITY", f"{day}/03/2021": "DATE"}
    spans = [(text.index(quote), text.index(quote) + len(quote), label) for quote, label in named.items()]
    begins = text.index(f"dott. {doctor}") + 6
    return text, [*spans, (begins, begins + len(doctor), "DOCTOR")]


def annotated(number):
    """The spans of a run that marks too much: the identifiers of the note, and four wrong ones."""
    text, spans = note_of(number)
    return spans + [(text.index(quote), text.index(quote) + len(quote), label) for quote, label in WRONG.items()]


def build_ward():
    """mia manages the project, vic only reads. The run `wide` has gold, and four wrong suggestions in each note."""
    project = create_project(name="Ward", label_set_key="i2b2-2014", language="it")
    gold = make.make_author(project, kind="gold", name="gold")
    wide = make.make_author(project, kind="run", name="wide")
    mia, vic = make.make_member(project, "manager", "mia"), make.make_member(project, "viewer", "vic")
    notes = []
    for number in range(40):
        text, spans = note_of(number)
        note = make.make_note(project, text, f"caso-{number}", patient_id=f"p{number}", language="it")
        make.make_set(note, gold, spans, submitted=True)
        make.make_set(note, wide, annotated(number), submitted=True)
        notes.append(note)
    version, _new = freeze(project=project, actor=mia)
    return SimpleNamespace(project=project, gold=gold, wide=wide, mia=mia, vic=vic, notes=notes, version=version)


made_ward, ward = made_once(build_ward, "long_lease", name="made_ward")


@pytest.fixture
def few(ward):
    """The run `few` has annotated three of the notes, with the four wrong suggestions of `wide`."""
    for number, note in enumerate(ward.notes[:NOTES]):
        make.make_set(note, "run:few", annotated(number), submitted=True)
    return ward


def refine(source, method="offline", actor=None, **asked):
    """Refine a run of the ward. What the job counted."""
    project = Project.objects.get(slug="ward")
    row = start_refinement(
        project=project, source=source, method=method, actor=actor, key=uuid4().hex, asked=RefinementChoice(**asked)
    )
    if row.job is not None:
        work(row.job_id)
        assert (make.reread(row.job).state, row.job.error) == ("done", "")
    return result_of(row)


def inject(rate=1, actor=None, **options):
    """The run of errors that a job put into gold version 1 of the ward."""
    project = Project.objects.get(slug="ward")
    row = start_injection(project=project, gold=1, actor=actor, key=uuid4().hex, rate=rate, **options)
    work(row.job_id)
    return InjectedRun.objects.select_related("author", "gold_version__project", "job").get(pk=row.pk)


def score_of(run, name):
    (found,) = score_authors(run, [authors_on(run).get(name=name)])
    return found.as_json()


def spans_of(name):
    rows = Span.objects.filter(annotation_set__author__name=name)
    return set(rows.values_list("annotation_set__document_id", "start", "end", "label__code"))
