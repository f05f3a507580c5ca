"""People who sign in through the page, a clock that can be moved, and second-factor codes."""

import base64
import hashlib
import hmac
import struct
import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client

from tests.factories import PASSWORD, make_user


@pytest.fixture(autouse=True)
def fresh_cache():
    """Clear the cache, where allauth keeps used codes and its rate limits."""
    cache.clear()


@pytest.fixture
def person(db):
    return make_user("ada")


@pytest.fixture
def sign_in():
    """Sign in through the page, as a browser does."""

    def post(client: Client, username: str = "ada", password: str = PASSWORD, **more):
        return client.post("/accounts/login/", {"login": username, "password": password, **more})

    return post


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, traveler: time_machine.Traveller) -> None:
        self._traveler = traveler

    @property
    def now(self) -> float:
        return time.time()

    def forward(self, *, minutes: float) -> None:
        self._traveler.shift(timedelta(minutes=minutes))


@pytest.fixture
def clock():
    with time_machine.travel(datetime(2026, 3, 2, 9, 30, tzinfo=UTC), tick=False) as traveler:
        yield Clock(traveler)


def totp(secret: str, at: float) -> str:
    """Compute a code of RFC 6238 with SHA-1, 30 s and six digits, independently of the code under test."""
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", int(at) // 30), hashlib.sha1).digest()
    offset = digest[-1] & 0x0F
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"
