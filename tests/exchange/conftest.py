"""What the tests of this feature share with others, and a project without notes."""

import pytest

from annotations.models import Document
from tests.worlds.pages import made_world, mia, sign_in, world

__all__ = ["made_world", "mia", "sign_in", "world"]


@pytest.fixture
def empty(world):
    Document.objects.all().delete()
    return world
