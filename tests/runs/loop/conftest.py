"""The gold and the people of trainings, and the queue."""

from tests.training.conftest import made_gold, trained, world
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["made_gold", "make_job", "no_redis", "probes", "processes", "redis_server", "trained", "world"]
