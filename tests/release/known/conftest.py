"""What the tests of this feature share with others, a manager who is signed in, and files of invented patients."""

import pytest


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)
