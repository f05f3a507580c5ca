from tests.feeds.feed_world import feed_world, made_feed_project

__all__ = ["feed_world", "made_feed_project"]
