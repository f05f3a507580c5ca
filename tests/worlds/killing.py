"""Points in the code at which a work process kills itself with SIGKILL, as a power cut would.

The process that a test starts finds the file by an environment variable, and looks into it whenever it gets to a point.
"""

import importlib
import json
import os
import signal
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import Final

VARIABLE: Final = "PROBE_KILLS"
STORED_SINGLE: Final = "models_runtime.refining.jobs.by_model.keep"
"""The answer to a question of the method *single* is stored, and its decision is about to be."""
STORED_AGENT: Final = "models_runtime.refining.jobs.by_model.keep"
"""An answer of the method *agent* is stored, and the decisions in it are about to be."""
DECIDED: Final = "models_runtime.refining.jobs.by_model.finish"
"""The last decision of a note is stored, and its annotation set is about to be."""


class Killed(BaseException):
    """The end of a worker: nothing after it runs."""


class Kills:
    """Where a process dies next. Every point is passed once more after the death, since the file is deleted."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def at(self, point: str, time: int) -> None:
        """Let the next process die when it gets to the point for the `time`-th time."""
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps([point, time]))
        new.replace(self.file)

    @property
    def done(self) -> bool:
        """Whether no process is going to die any more."""
        return not self.file.exists()


def install() -> None:
    """Watch the points in this process and those that it forks, if the test has named a file."""
    if not (name := os.environ.get(VARIABLE)):
        return
    # Loaded once here, and not by every work process that follows a killed one.
    for module in ("models_runtime.backends.llm.remote", "models_runtime.backends.refining.agent"):
        importlib.import_module(module)
    passed: Counter[str] = Counter()
    for point in (STORED_SINGLE, STORED_AGENT, DECIDED):
        module, _, function = point.rpartition(".")
        _watch(importlib.import_module(module), function, point, passed, Path(name))


def _watch(module: object, function: str, point: str, passed: Counter[str], file: Path) -> None:
    own = getattr(module, function)

    @wraps(own)
    def watched(*arguments: object, **options: object) -> object:
        passed[point] += 1
        if file.exists() and json.loads(file.read_text()) == [point, passed[point]]:
            file.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return own(*arguments, **options)

    setattr(module, function, watched)
