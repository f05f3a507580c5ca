"""A call in another thread, which begins in the middle of something else."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from tests.waiting import HANGS, MOMENT


class Beside:
    """A call in another thread, with a connection of its own.

    `waited` says whether it was still waiting a moment after it began, and `error` is what it raised.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: Exception | None = None
        self.waited: bool | None = None
        self._call, self._done = call, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def begin(self) -> None:
        """Begin the call, unless it has begun already."""
        if self._thread.ident is None:
            self._thread.start()
            self.waited = not self._done.wait(MOMENT)

    def begin_before(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        """Begin the call as soon as `module.name` is called, before it runs."""
        original = getattr(module, name)

        def called(*given: object, **named: object) -> object:
            self.begin()
            return original(*given, **named)

        monkeypatch.setattr(module, name, called)

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:
            self.error = error
        finally:
            self._done.set()
            connection.close()

    def join(self) -> None:
        self._thread.join(HANGS)
        assert self._done.is_set()
