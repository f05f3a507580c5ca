"""Fixtures that these tests share with other features."""

from tests.worlds.pages import made_world, sign_in, world
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["made_world", "make_job", "no_redis", "probes", "processes", "redis_server", "sign_in", "world"]
