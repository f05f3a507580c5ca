"""What the tests of this feature share with others."""

from tests.worlds.pages import sign_in, world

__all__ = ["sign_in", "world"]
