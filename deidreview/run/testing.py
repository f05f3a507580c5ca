"""`make test`: the browser code's tests under Node, then all of pytest on SQLite and on PostgreSQL.

Words after the command go to pytest: `python -m deidreview.run.testing tests/services -k gold`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from deidreview.run.environment import ROOT, StartError
from deidreview.run.postgres import private_postgres

# What a developer's shell says about the product must not decide what the tests see.
OURS = ("DEIDREVIEW_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "PYTEST_", "PG", "HOST", "PORT")


def main(words: Sequence[str]) -> int:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    results = [] if words else [("JavaScript", _node(environ))]
    results.append(("SQLite", _pytest("SQLite", environ, words)))
    try:
        with private_postgres() as url:
            results.append(("PostgreSQL", _pytest("PostgreSQL", {**environ, "DATABASE_URL": url}, words)))
    except StartError as error:
        results.append(("PostgreSQL", str(error)))
    print()
    for name, line in results:
        print(f"{name:12}{line or 'failed'}")
    return 0 if all(line.startswith("ok") for _, line in results) else 1


def _node(environ: Mapping[str, str]) -> str:
    """Every file is named: what Node makes of a folder differs between its versions."""
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests" / "js").rglob("*.test.*js"))
    _title(f"JavaScript ({len(files)} files)")
    if not files:
        return "failed: no test was found in tests/js"
    return _timed(["node", "--test", "--test-reporter=dot", *files], environ)


def _pytest(database: str, environ: Mapping[str, str], words: Sequence[str]) -> str:
    _title(f"pytest on {database}")
    return _timed([sys.executable, "-m", "pytest", *words], environ)


def _timed(command: Sequence[str], environ: Mapping[str, str]) -> str:
    began = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, env=dict(environ), stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603
    took = f"{time.monotonic() - began:.0f} s"
    return f"ok in {took}" if status == 0 else f"failed with exit status {status} in {took}"


def _title(text: str) -> None:
    print(f"\n── {text} ──", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
