"""What the tests of this feature share with others, and a note with annotations."""

from types import SimpleNamespace

import pytest

from tests import factories as make
from tests.notes.note_pages import DATE, ROSSI
from tests.worlds.pages import world

__all__ = ["world"]


@pytest.fixture
def annotated(world) -> SimpleNamespace:
    """The first note with ann's submitted annotations and ben's draft."""
    world.anns = make.make_set(world.note, world.ann, [ROSSI, DATE], submitted=True)
    world.bens = make.make_set(world.note, world.ben, [DATE])
    return world
