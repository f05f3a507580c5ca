"""`make test`: the browser code's tests under Node, then pytest on SQLite, on PostgreSQL, and without a database.

The parts run at the same time, since tests mostly wait: for a browser, a disk, and longest for processes. Their output
is printed at the end. Tests without a database run once, and so do most tests in a browser. Arguments are passed to
pytest: `python -m tests.run tests/gold -k freeze`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import IO

from deidreview.run.environment import ROOT, StartError
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

Part = Callable[[Mapping[str, str], Sequence[str], IO[bytes], Sequence[int]], str]


def main(words: Sequence[str]) -> int:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    results = [] if words else [("JavaScript", _node(environ))]
    # Selected tests may belong to one part and not to another.
    fine = (0, NO_TESTS) if words else (0,)
    beside = {
        "PostgreSQL": _on_postgres("second"),
        "browser": _part("browser"),
        "processes": _part("first-running"),
        "processes, PostgreSQL": _on_postgres("second-running"),
        "no database": _part("plain"),
    }
    with ThreadPoolExecutor(len(beside)) as pool, ExitStack() as files:
        outputs = {name: files.enter_context(tempfile.TemporaryFile()) for name in beside}
        runs = {name: pool.submit(run, environ, words, outputs[name], fine) for name, run in beside.items()}
        _title("pytest on SQLite")
        results.append(("SQLite", _timed([*PYTEST, "--part=first", *words], environ, fine=fine)))
        for name, run in runs.items():
            results.append((name, run.result()))
            _title(f"pytest, {name}")
            outputs[name].seek(0)
            sys.stdout.buffer.write(outputs[name].read())
            sys.stdout.flush()
    print()
    for name, line in results:
        print(f"{name:24}{line or 'failed'}")
    return 0 if all(line.startswith("ok") for _, line in results) else 1


def _part(name: str) -> Part:
    def run(environ: Mapping[str, str], words: Sequence[str], output: IO[bytes], fine: Sequence[int]) -> str:
        return _timed([*PYTEST, f"--part={name}", *words], environ, output, fine)

    return run


def _on_postgres(name: str) -> Part:
    def run(environ: Mapping[str, str], words: Sequence[str], output: IO[bytes], fine: Sequence[int]) -> str:
        try:
            with private_postgres() as url:
                return _part(name)({**environ, "DATABASE_URL": url}, words, output, fine)
        except StartError as error:
            return str(error)

    return run


def _node(environ: Mapping[str, str]) -> str:
    """Run the JavaScript tests. Every file is named, since versions of Node treat folders differently."""
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests" / "js").rglob("*.test.*js"))
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
        cwd=ROOT,
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
