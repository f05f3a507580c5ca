"""What the tests of this feature share with others."""

from tests.worlds.pages import made_world, sign_in, world
from tests.worlds.queue import gate, make_job, no_redis, probes, processes, redis_server

__all__ = [
    "gate",
    "made_world",
    "make_job",
    "no_redis",
    "probes",
    "processes",
    "redis_server",
    "sign_in",
    "world",
]
