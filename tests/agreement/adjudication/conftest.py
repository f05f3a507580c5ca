"""The world of adjudication; tests of pages import their own."""

from tests.worlds.adjudicated import made_adjudication, world
from tests.worlds.pages import sign_in

__all__ = ["made_adjudication", "sign_in", "world"]
