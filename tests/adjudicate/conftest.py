"""Fixtures that these tests share with other features."""

from tests.worlds.pages import made_world, sign_in, world

__all__ = ["made_world", "sign_in", "world"]
