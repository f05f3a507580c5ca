"""A gate that keeps another process in the middle of its work until the test has acted, however slow the test is."""

from math import inf
from pathlib import Path
from typing import Final

STEP: Final = 0.02


class Gate:
    """A file with a number: the process may begin only with steps below this number."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def let(self, upto: float) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(str(upto))
        new.replace(self.file)

    def open(self) -> None:
        self.let(inf)


def may_begin(gate: str, step: int) -> bool:
    """Return whether the gate of this name lets the step through. Without a gate, all steps may begin."""
    return not gate or step < float(Path(gate).read_text())
