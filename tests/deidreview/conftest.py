"""What the tests of the Django project share with those of sign-in, and a fixture for tests of many requests."""

import logging
from collections.abc import Iterator

import pytest
from django.test import override_settings

from tests.worlds.signing_in import clock, fresh_cache, person, sign_in

__all__ = ["clock", "fresh_cache", "person", "sign_in"]


@pytest.fixture
def nightly(pytestconfig: pytest.Config) -> bool:
    """Whether all of many similar requests are sent, or only a few of them."""
    return pytestconfig.getoption("--nightly")


@pytest.fixture(scope="module")
def small_models() -> Iterator[None]:
    """Every backend of others finds one model on this machine."""
    from models_runtime.core import external
    from tests.deidreview.access_world import SMALL

    with pytest.MonkeyPatch.context() as patch:
        for backend, model in SMALL.items():
            patch.setitem(external.FOUND, backend, lambda model=model: [model])
        yield


@pytest.fixture
def uncounted_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers beside the links of the header take a tenth of a request and depend on no input."""
    monkeypatch.setattr("annotations.core.templatetags.nav._count", lambda counter, access: "")


@pytest.fixture(scope="module")
def fast_requests() -> Iterator[None]:
    """Switch off log lines, a fifth of the time of a request, and copies of template contexts, a tenth.

    A fast machine sends more requests in ten seconds than a person may, so there is no limit on them either.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(REQUESTS_PER_WINDOW=10**9, ANONYMOUS_PER_WINDOW=10**9),
    ):
        patch.setattr("django.test.client.store_rendered_templates", lambda *_, **__: None)
        logging.disable()
        yield
        logging.disable(logging.NOTSET)
