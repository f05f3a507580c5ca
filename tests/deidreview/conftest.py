"""What the tests of the Django project share with those of sign-in."""

from tests.worlds.signing_in import clock, fresh_cache, person, sign_in

__all__ = ["clock", "fresh_cache", "person", "sign_in"]
