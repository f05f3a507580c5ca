"""`make test`: the browser code's tests under Node, then pytest on SQLite, on PostgreSQL, and without a database.

Seven parts run at a time, since tests also wait: for a browser, a disk, and longest for processes. The output of each
part is printed at the end. `make test` runs on PostgreSQL what databases do differently. `make test-all` runs all.

    python -m tests.run                        everything that decides whether a change is right
    python -m tests.run --all                  the same, with long property tests, all on both databases
    python -m tests.run --changed [COMMIT]     what the changes since a commit (default HEAD) can break
    python -m tests.run tests/gold -k freeze   some tests; pytest gets the arguments
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from annotations.installation import CODE
from deidreview.run.environment import StartError
from tests import affected, costs
from tests.postgres import private_postgres

# These variables of a developer's shell must not influence the tests. The last one would make each of the hundreds of
# processes that the tests start compile the whole app again.
OURS = (
    "DEIDREVIEW_",
    "DATABASE_URL",
    "REDIS_URL",
    "DJANGO_",
    "PYTEST_",
    "PG",
    "HOST",
    "PORT",
    "PYTHONDONTWRITEBYTECODE",
)
# Tracebacks are Python's own: under Playwright's greenlets Python 3.11 can fail to parse a source for pytest's
# tracebacks, which would end the whole run.
PYTEST = [sys.executable, "-u", "-m", "pytest", "--tb=native"]
# Pytest's exit status for a run without tests, for example if all selected tests belong to another part.
NO_TESTS = 5

# The parts by the names that people see, in the order in which they begin: those that need one process for long first,
# so that both cores have work until the end. See `pytest --help`.
PARTS = {
    "no database": "plain",
    "browser": "first-browser",
    "SQLite, h to z": "first-rest",
    "processes, r to z": "first-running-rest",
    "processes, a to q": "first-running",
    "SQLite, a to g": "first",
    "PostgreSQL": "second",
}
AT_A_TIME = 7
NIGHTLY = {"browser, PostgreSQL": "second-browser", "processes, PostgreSQL": "second-running"}
# The part that loads all files; the others wait until it has, and then load only those that they need. Only tests in a
# browser begin at once, since they are in a folder of their own.
FIRST = "no database"
BROWSER, BROWSER_TESTS = "browser", "tests/browser"
RESULTS = CODE / "test-results" / "costs.json"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description="Run tests. Other words are pytest's.")
    parser.add_argument("--all", action="store_true", help="run the long tests too, and all on both databases")
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="COMMIT", help="run what a change can break")
    chosen, words = parser.parse_known_args(words)
    if chosen.changed:
        selected = affected.affected_by(affected.changed_since(chosen.changed))
        print(f"{len(selected)} test files can see the changes since {chosen.changed}.", flush=True)
        if not selected:
            return 0
        words = [*selected, *words]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    began = time.monotonic()
    with ExitStack() as stack:
        shared = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deidreview-parts-")))
        pool = stack.enter_context(ThreadPoolExecutor(AT_A_TIME))
        server = stack.enter_context(ThreadPoolExecutor(1)).submit(stack.enter_context, private_postgres())
        options = [f"--shared={shared}", *(["--nightly"] if chosen.all else [])]
        tests = TestRun([*PYTEST, *options, *words], environ, server, (0, NO_TESTS) if words else (0,))
        parts = PARTS | (NIGHTLY if chosen.all else {})
        outputs = {name: stack.enter_context(tempfile.TemporaryFile()) for name in parts}
        results, runs, plan, planned = {}, {}, shared / "plan.json", []

        def begin(name: str, *more: str) -> None:
            runs[name] = pool.submit(tests.run, parts[name], outputs[name], more)

        if not words:
            planned = [f"--plan={plan}"]
            begin(FIRST, *planned)
            if not chosen.all:
                begin(BROWSER, BROWSER_TESTS)
            results["JavaScript"] = _node(environ)
            _wait_for(plan, runs[FIRST])
        for name in [name for name in parts if name not in runs]:
            begin(name, *planned)
        for name in parts:
            results[name] = runs[name].result()
            _title(f"pytest, {name}")
            _show(outputs[name])
        spent = costs.read(shared)
    return _report(results, spent, time.monotonic() - began, judged=not words and not chosen.all)


def _report(results: Mapping[str, str], spent: list[costs.FileCost], seconds: float, judged: bool) -> int:
    """Print how the parts ended and what the files cost. Return the exit status.

    The budgets of files are for a whole run of `make test`, which is `judged` by them.
    """
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(cost) for cost in spent], indent=1))
    print("", *costs.summary(spent), f"Seconds of each file and part: {RESULTS.relative_to(CODE)}", "", sep="\n")
    for name, line in results.items():
        print(f"{name:24}{line}")
    above = costs.above_budget(spent) if judged else []
    print(f"{'whole run':24}{seconds:.0f} s", *above, sep="\n")
    return 0 if not above and all(line.startswith("ok") for line in results.values()) else 1


def _wait_for(plan: Path, run: Future[str]) -> None:
    """Wait until the first part has loaded all files and written which part needs which of them, or has ended."""
    while not plan.exists() and not run.done():
        time.sleep(0.1)


@dataclass
class TestRun:
    """Runs parts of the tests, some of them on the server of PostgreSQL."""

    command: Sequence[str]
    environ: Mapping[str, str]
    server: Future[str]
    fine: Sequence[int]

    def run(self, part: str, output: IO[bytes], words: Sequence[str]) -> str:
        """Run one part, with further words for pytest. Return a line that begins with "ok" if nothing failed."""
        environ = dict(self.environ)
        if part.startswith("second"):
            try:
                environ["DATABASE_URL"] = self.server.result()
            except StartError as error:
                return f"failed: {error}"
        return _timed([*self.command, *words, f"--part={part}"], environ, output, self.fine)


def _show(output: IO[bytes]) -> None:
    output.seek(0)
    sys.stdout.buffer.write(output.read())
    sys.stdout.flush()


def _node(environ: Mapping[str, str]) -> str:
    """Run the JavaScript tests. Every file is named, since versions of Node treat folders differently."""
    files = sorted(str(file.relative_to(CODE)) for file in (CODE / "tests" / "js").rglob("*.test.*js"))
    _title(f"JavaScript ({len(files)} files)")
    if not files:
        return "failed: tests/js contains no test"
    return _timed(["node", "--test", "--test-reporter=dot", *files], environ)


def _timed(
    command: Sequence[str],
    environ: Mapping[str, str],
    output: IO[bytes] | None = None,
    fine: Sequence[int] = (0,),
) -> str:
    """Run a command. Return a line with its end, the seconds of the clock, and those of the processor."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=CODE,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
    )
    # Unlike wait(), this tells the processor time of this process and of all that it has waited for.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    spent = usage.ru_utime + usage.ru_stime
    took = f"{time.monotonic() - began:.0f} s, processor {spent:.0f} s"
    fitting = process.returncode in fine
    return f"ok in {took}" if fitting else f"failed with exit status {process.returncode} in {took}"


def _title(text: str) -> None:
    print(f"\n── {text} ──", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
