"""A prepared release of two patients' notes from a frozen gold version."""


import pytest

from annotations.gold.services.making import freeze, make_gold
from annotations.jobs.runner import run as work
from annotations.release.services.policies import policy_named
from annotations.release.services.starting import start_release
from tests import factories as make
from tests.worlds.pages import sign_in, world

__all__ = ["sign_in", "world"]

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
SPANS = [(0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY"), (61, 68, "DOCTOR")]


@pytest.fixture
def released(world):
    """The world with `release`: three notes, of which two are of patient P-0001."""
    world.extra = make.make_note(world.project, "Anna Verdi, Torino.", "caso-003", language="en", patient_id="P-0002")
    world.project.documents.filter(pk__in=[note.pk for note in world.notes]).update(patient_id="P-0001")
    for note, spans in ((world.notes[0], SPANS), (world.notes[1], SPANS), (world.extra, [(0, 10, "PATIENT")])):
        annotated = make.make_set(note, world.ann, spans, submitted=True)
        make_gold(document=note, annotation_set=annotated, actor=world.rev)
    world.version, _made = freeze(project=world.project, actor=world.rev)
    world.release = prepared(world)
    return world


def prepared(world, set_spec="gold:1"):
    """Start a release of gold under a policy that masks all labels, and prepare it here."""
    policy = policy_named(world.project, "mask", actor=world.mia)
    release = start_release(project=world.project, set_spec=set_spec, policy=policy, actor=world.mia)
    work(release.job_id)
    release.refresh_from_db()
    return release


