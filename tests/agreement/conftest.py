"""Two annotators who disagree, for these tests."""

import pytest

from tests import factories as make
from tests.worlds.programs import Program


@pytest.fixture
def read(world):
    """Two annotation sets of the first note: different bounds of the name, and an age that ben missed."""
    spans = [(0, 11, "PATIENT"), (13, 15, "AGE")], [(6, 11, "PATIENT")]
    world.sets = [
        make.make_set(world.note, person, some, submitted=True)
        for person, some in zip((world.ann, world.ben), spans, strict=True)
    ]
    world.rita, world.mia_ = Program(world.rev), Program(world.mia)
    return world
