"""Learners in processes forked from a warm parent. `cold_learners` starts them as the product does."""

import importlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from models_runtime.backends import children
from models_runtime.backends.children import main
from models_runtime.backends.files import format_of
from tests.worlds.forking import Forked, serve


class ForkedLearner(Forked):
    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        (reads, feeds), (hears, says) = os.pipe(), os.pipe()
        self.stdin: IO[bytes] = os.fdopen(feeds, "wb")
        self.stdout: IO[bytes] = os.fdopen(hears, "rb")
        super().__init__("tests.worlds.learners", env, words, [reads, says])
        os.close(reads), os.close(says)

    def communicate(self, timeout: float) -> tuple[bytes, None]:
        """Return what the learner writes until it ends."""
        self.stdin.close()
        until, said = time.monotonic() + timeout, b""
        while select.select([self.stdout], [], [], max(0, until - time.monotonic()))[0]:
            if not (data := os.read(self.stdout.fileno(), 1 << 16)):
                self.wait()
                return said, None
            said += data
        raise subprocess.TimeoutExpired([], timeout)


def _start(
    words: Sequence[str], *, env: Mapping[str, str], **options: Any
) -> "ForkedLearner | subprocess.Popen[bytes]":
    """Stand for `subprocess.Popen` in the module that starts the learners. A test's own program starts as always."""
    if words[2] == main.__module__:
        return ForkedLearner(words[4:], env)
    return subprocess.Popen(words, env=env, **options)


WARM = SimpleNamespace(**vars(subprocess) | {"Popen": _start})


def use() -> None:
    """Fork all learners of this process from the warm parent, also after a test has undone its patches."""
    children.subprocess = WARM  # type: ignore[assignment]


@pytest.fixture
def cold_learners() -> Iterator[None]:
    """Start learners as the product does: each with its own interpreter."""
    children.subprocess = subprocess
    yield
    use()


def _warm_up(words: Sequence[str]) -> None:
    """Import what this task needs. The learner itself reports what is wrong with its file or its module."""
    act, *learners, path = words
    with suppress(Exception):
        by_format = dict(word.split("=") for word in learners) if act == "check" else {}
        module = (by_format[format_of(Path(path))] if by_format else learners[0]).rpartition(".")[0]
        if module.startswith("models_runtime.") and module not in sys.modules:
            importlib.import_module(module)
            if "torch" in sys.modules:
                importlib.import_module("torch._dynamo")  # The first optimizer imports it, which takes 1.8 s.


if __name__ == "__main__":
    (act, *learners, path), files = serve(_warm_up)
    for number, file in enumerate([*files, os.open(os.devnull, os.O_WRONLY)]):
        os.dup2(file, number), os.close(file)
    try:
        main(os.getppid(), act, learners, Path(path))
    except SystemExit as ending:
        os._exit(int(ending.code or 0))
    except BaseException:
        os._exit(1)
    os._exit(0)
