"""What the tests of this feature share with others, and a manager who is signed in."""

from tests.worlds.pages import made_world, mia, sign_in, world

__all__ = ["made_world", "mia", "sign_in", "world"]
