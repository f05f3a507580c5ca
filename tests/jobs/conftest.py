"""Fixtures shared with other features."""

from tests.worlds.queue import gate, make_job, no_redis, probes, processes, redis_server

__all__ = ["gate", "make_job", "no_redis", "probes", "processes", "redis_server"]
