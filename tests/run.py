"""`make test`: the browser code's tests under Node, then pytest on SQLite, on PostgreSQL, and without a database.

The parts run at the same time, since tests mostly wait: for a browser, a disk, and longest for processes. Their output
is printed at the end. Tests without a database run once, and so do most tests of pages, of commands and in a browser.
Arguments are passed to pytest: `python -m tests.run tests/gold -k freeze`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

from annotations.domain.installation import CODE
from deidreview.run.environment import StartError
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
# Slow tests are listed. Tracebacks are Python's own: under Playwright's greenlets Python 3.11 can fail to parse a
# source for pytest's tracebacks, which would end the whole run.
PYTEST = [sys.executable, "-m", "pytest", "--tb=native", "--durations=15", "--durations-min=3"]
# Pytest's exit status for a run without tests, for example if all selected tests belong to another part.
NO_TESTS = 5

# The parts that run beside the first one, by the names that people see. See `pytest --help`.
PARTS = {
    "PostgreSQL": "second",
    "browser": "browser",
    "processes": "first-running",
    "processes, PostgreSQL": "second-running",
    "no database": "plain",
}


def main(words: Sequence[str]) -> int:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with ExitStack() as stack:
        shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="deidreview-parts-"))
        outputs = {name: stack.enter_context(tempfile.TemporaryFile()) for name in PARTS}
        pool = stack.enter_context(ThreadPoolExecutor())
        server = pool.submit(stack.enter_context, private_postgres())
        results = {} if words else _before(pool, environ, shared)
        tests = Tests([*PYTEST, f"--shared={shared}", *words], environ, server, (0, NO_TESTS) if words else (0,))
        runs = {name: pool.submit(tests.run, part, outputs[name]) for name, part in PARTS.items()}
        _title("pytest on SQLite")
        results["SQLite"] = tests.run("first")
        for name, run in runs.items():
            results[name] = run.result()
            _title(f"pytest, {name}")
            _show(outputs[name])
    print()
    for name, line in results.items():
        print(f"{name:24}{line}")
    return 0 if all(line.startswith("ok") for line in results.values()) else 1


def _before(pool: ThreadPoolExecutor, environ: Mapping[str, str], shared: str) -> dict[str, str]:
    """Run the JavaScript tests. Meanwhile load all tests once, so that each part then loads only the files it needs."""
    with tempfile.TemporaryFile() as output:
        loaded = pool.submit(_timed, [*PYTEST, f"--shared={shared}", "--part=plan"], environ, output, (NO_TESTS,))
        results = {"JavaScript": _node(environ), "all files loaded": loaded.result()}
        if not results["all files loaded"].startswith("ok"):
            _show(output)
    return results


@dataclass
class Tests:
    """Runs parts of the tests, some of them on the server of PostgreSQL."""

    command: Sequence[str]
    environ: Mapping[str, str]
    server: Future[str]
    fine: Sequence[int]

    def run(self, part: str, output: IO[bytes] | None = None) -> str:
        """Run one part. Return a line about it that begins with "ok" if nothing failed."""
        environ = dict(self.environ)
        if part.startswith("second"):
            try:
                environ["DATABASE_URL"] = self.server.result()
            except StartError as error:
                return f"failed: {error}"
        return _timed([*self.command, f"--part={part}"], environ, output, self.fine)


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
    began = time.monotonic()
    status = subprocess.run(
        command,
        cwd=CODE,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        check=False,
    ).returncode
    took = f"{time.monotonic() - began:.0f} s"
    return f"ok in {took}" if status in fine else f"failed with exit status {status} in {took}"


def _title(text: str) -> None:
    print(f"\n── {text} ──", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
