"""What the tests of this feature share with others."""

from tests.worlds.reviewing import decide, suggested

__all__ = ["decide", "suggested"]
