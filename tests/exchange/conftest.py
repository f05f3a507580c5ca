"""What the tests of this feature share with others, and a project without notes."""

import pytest

from annotations.models import Document
from tests.worlds.pages import world

__all__ = ["world"]


@pytest.fixture
def empty(world):
    Document.objects.all().delete()
    return world
