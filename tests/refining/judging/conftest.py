"""What the tests of this feature share with others."""

from tests.refining.judging.world import client
from tests.worlds.queue import make_job

__all__ = ["client", "make_job"]
