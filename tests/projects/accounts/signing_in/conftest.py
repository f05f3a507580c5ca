"""What the tests of sign-in share with others."""

from tests.worlds.signing_in import clock, fresh_cache, person, sign_in

__all__ = ["clock", "fresh_cache", "person", "sign_in"]
