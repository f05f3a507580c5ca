"""Fixtures shared with other features."""

from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["make_job", "no_redis", "probes", "processes", "redis_server"]
