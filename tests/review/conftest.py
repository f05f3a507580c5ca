"""What the tests of this feature share with others."""

from tests.worlds.pages import made_world, sign_in, world
from tests.worlds.reviewing import decide, suggested

__all__ = ["decide", "made_world", "sign_in", "suggested", "world"]
