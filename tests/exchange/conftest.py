"""What the tests of this feature share with others, and a manager who is signed in."""

import pytest

from tests.worlds.pages import made_world, sign_in, world

__all__ = ["made_world", "sign_in", "world"]


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)
