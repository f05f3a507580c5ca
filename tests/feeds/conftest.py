from tests.feeds.feed_world import feed_world, made_feed_project
from tests.worlds.queue import no_redis

__all__ = ["feed_world", "made_feed_project", "no_redis"]
