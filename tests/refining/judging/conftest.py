"""What the tests of this feature share with others."""

from tests.refining.judging.world import client
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["client", "make_job", "no_redis", "probes", "processes", "redis_server"]
