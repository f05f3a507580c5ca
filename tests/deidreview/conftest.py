"""What the tests of the Django project share with those of sign-in, and a fixture for tests of many requests."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.worlds.queue import no_redis
from tests.worlds.signing_in import clock, fresh_cache, person, sign_in

__all__ = ["clock", "fresh_cache", "no_redis", "person", "sign_in"]


@pytest.fixture
def fast_requests(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """Switch off log lines, a fifth of the time of a request, and copies of template contexts, a tenth.

    A fast machine sends more requests in ten seconds than a person may, so there is no limit on them either.
    """
    settings.REQUESTS_PER_WINDOW = settings.ANONYMOUS_PER_WINDOW = 10**9
    monkeypatch.setattr("django.test.client.store_rendered_templates", lambda *_, **__: None)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
