"""What the tests of this feature share with others."""

from tests.refining.judging.world import client, project

__all__ = ["client", "project"]
