"""The world of adjudication; tests of pages import their own."""

from tests.worlds.adjudicated import made_adjudication, world

__all__ = ["made_adjudication", "world"]
