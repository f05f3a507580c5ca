"""Fixtures that these tests share with other features."""

from tests.worlds.pages import sign_in, world
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["make_job", "no_redis", "probes", "processes", "redis_server", "sign_in", "world"]
