"""What the tests of this feature share with others."""

from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["make_job", "no_redis", "probes", "processes", "redis_server"]
