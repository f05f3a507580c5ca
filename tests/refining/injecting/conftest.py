"""What the tests of this feature share: gold in two languages, frozen."""

from types import SimpleNamespace

import pytest

from annotations.gold.services.making import freeze
from annotations.models import Label
from annotations.projects.services.projects import create_project
from tests import factories as make
from tests.refining.injecting.rejected import reviewed

__all__ = ["reviewed"]
ITALIAN = "Mario Rossi, 54 anni, ricoverato a Torino il 2021 dal dott. Bianchi. PA 130/80, PCR 12, in cardiologia."
ENGLISH = "Anna Brown lives in Leeds. She has Crohn's disease. Seen in ICU by Dr. Grant; BP 120/70. The rash is brown."


@pytest.fixture
def frozen(db, no_redis):
    """Two notes of two patients with gold, frozen as version 1; mia manages the project, vic only reads."""
    project = create_project(name="Ward", label_set_key="i2b2-2014", language="it")
    gold = make.make_author(project, kind="gold", name="gold")
    mia, vic = make.make_member(project, "manager", "mia"), make.make_member(project, "viewer", "vic")
    first = make.make_note(project, ITALIAN, "caso-1", patient_id="p1")
    notes = [first, make.make_note(project, ENGLISH, "case-2", patient_id="p2", language="en")]
    italian = {"Mario Rossi": "PATIENT", "54": "AGE", "Torino": "CITY", "2021": "DATE", "Bianchi": "DOCTOR"}
    english = {"Anna Brown": "PATIENT", "Leeds": "CITY", "Grant": "DOCTOR"}
    for note, own in zip(notes, (italian, english), strict=True):
        begins = {quote: note.text.index(quote) for quote in own}
        spans = [(begins[quote], begins[quote] + len(quote), label) for quote, label in own.items()]
        make.make_set(note, gold, spans, submitted=True)
    version, _new = freeze(project=project, actor=mia)
    labels = dict(Label.objects.filter(label_set__project=project).values_list("code", "pk"))
    return SimpleNamespace(project=project, gold=gold, mia=mia, vic=vic, notes=notes, version=version, labels=labels)
