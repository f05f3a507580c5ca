"""Fixtures that these tests share with other features."""

from tests.worlds.pages import sign_in, world

__all__ = ["sign_in", "world"]
