"""What each test file costs, in seconds of processor time, and the budget of each.

Processor time is counted for pytest and for all processes that a file's tests start (servers, workers, Chromium), so a
busy machine changes it little. A file above its budget fails the run, and the message names the file. The budgets are
about twice what calm cores need, so that a slower machine passes too. Wall clock is written down, but never judged.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest

# The seconds that a file may take, and the files that are allowed more. Both may fall; a rise needs a reason.
BUDGET: Final = 50.0
DEARER: Final[dict[str, float]] = {
    "tests/browser/test_axe.py": 120,
    "tests/deidreview/test_access_matrix.py": 110,
    "tests/deidreview/test_fuzz.py": 70,
    "tests/deidreview/test_secrets.py": 90,
    "tests/product/test_run.py": 100,
}


@dataclass
class FileCost:
    """What one file cost in one part of a run: tests, seconds of processor time, seconds of the clock."""

    file: str
    part: str
    tests: int
    processor: float
    clock: float


class CostMeter:
    """Counts the processor time of this process and of its descendants, file by file."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.costs: list[FileCost] = []
        self._file = ""
        self._tests = 0
        self._own = psutil.Process()
        self._at = self._now()

    def _now(self) -> tuple[float, float]:
        """Return processor and clock seconds. A process that has ended counts with the one that waited for it."""
        spent = sum(self._own.cpu_times()[:4])
        for child in self._own.children(recursive=True):
            try:
                spent += sum(child.cpu_times()[:4])
            except psutil.Error:  # It has ended meanwhile.
                continue
        return spent, time.monotonic()

    def enter(self, file: str) -> None:
        """Begin a test of this file."""
        if file != self._file:
            self.leave()
            self._file = file
        self._tests += 1

    def leave(self) -> None:
        """End the file that was entered last."""
        now = self._now()
        if self._file:
            processor, clock = now[0] - self._at[0], now[1] - self._at[1]
            self.costs.append(
                FileCost(self._file, self.part, self._tests, round(max(processor, 0), 2), round(clock, 2))
            )
        self._file, self._tests, self._at = "", 0, now


METER = pytest.StashKey[CostMeter]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[METER] = CostMeter(config.getoption("--part"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.config.stash[METER].enter(item.nodeid.partition("::")[0])
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the costs to the shared folder of the run, if it has one, and fail if a file is above its budget."""
    meter = session.config.stash[METER]
    meter.leave()
    shared: Path | None = session.config.getoption("--shared")
    if shared:
        (shared / f"costs-{os.getpid()}.json").write_text(json.dumps([asdict(cost) for cost in meter.costs]))


def read(folder: Path) -> list[FileCost]:
    """Return the costs that the parts of a run have written."""
    files = sorted(folder.glob("costs-*.json"))
    return [FileCost(**row) for file in files for row in json.loads(file.read_text())]


def summary(costs: list[FileCost], dearest: int = 10) -> list[str]:
    """Return lines for people: the dearest files, then the total of each folder."""
    files: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for cost in costs:
        files[cost.file] += cost.processor
        folders["/".join(Path(cost.file).parts[:2])] += cost.processor
    lines = [f"Processor time of all files: {files.total():.0f} s. The dearest:"]
    lines += [f"{seconds:8.1f} s  {file}" for file, seconds in files.most_common(dearest)]
    lines += ["By folder:", ", ".join(f"{folder} {seconds:.0f} s" for folder, seconds in folders.most_common())]
    return lines


def above_budget(costs: list[FileCost]) -> list[str]:
    """Return a line for each file that took more processor time than its budget."""
    files: Counter[str] = Counter()
    for cost in costs:
        files[cost.file] += cost.processor
    return [
        f"{file} took {seconds:.0f} s of processor time, and its budget is {DEARER.get(file, BUDGET):.0f} s. "
        f"Make its tests cheaper, or mark the dear ones `nightly`."
        for file, seconds in sorted(files.items())
        if seconds > DEARER.get(file, BUDGET)
    ]
