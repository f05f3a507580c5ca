"""What the tests of this feature share with others."""

from tests.worlds.pages import made_world, sign_in, world
from tests.worlds.queue import no_redis, redis_server

__all__ = ["made_world", "no_redis", "redis_server", "sign_in", "world"]
