"""Query plans on a generated 100,000 notes with 5,000,000 spans, in a PostgreSQL of our own.

`python -m tests.bench plans`. What is shown to stay small there, an index walk of a few rows, is as small with ten
times as many. A sequential scan of a table that grows with the notes is a fault; so is looking at very many rows.
Pages that count a whole project by intention are shown apart.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deidreview.run.postgres import FAST, private_postgres
from tests.bench.product import OURS, ROOT

NOTES = 100_000
SECONDS = 900


@dataclass(frozen=True)
class Report:
    notes: int
    spans: int
    seconds: float
    actions: list[dict[str, Any]]

    @property
    def flagged(self) -> list[str]:
        """Faults of what has to stay small."""
        return [
            f"{action['action']}: {fault}"
            for action in self.actions
            if not action["summary"]
            for fault in action["faults"]
        ]

    def text(self, *, statements: bool) -> str:
        """A line for each action, and with `statements` one for each of its statements and their plans."""
        small, whole = ([row for row in self.actions if row["summary"] is kind] for kind in (False, True))
        lines = [
            f"{self.notes:,} notes, {self.spans:,} spans, made in {self.seconds:.0f} s; times are the database's own",
            *(line for action in small for line in _lines(action, statements=statements)),
            "Counted or walked by intention:",
            *(line for action in whole for line in _lines(action, statements=statements)),
            *([f"FAULT {fault}" for fault in self.flagged] or ["No sequential scan and no long walk among the first."]),
        ]
        return "\n".join(lines)


def _lines(action: dict[str, Any], *, statements: bool) -> Iterator[str]:
    plans = action["plans"]
    rows, ms = sum(plan["rows"] for plan in plans), sum(plan["ms"] for plan in plans)
    yield f"{ms:9.2f} ms {rows:9,} rows {len(plans):3} statements  {action['action']}"
    for plan in plans if statements else ():
        nodes = ", ".join(dict.fromkeys(node for node in plan["nodes"] if " " in node))
        yield f"    {plan['ms']:8.2f} ms {plan['rows']:9,} rows  {plan['title']:28} {nodes}"


def report(notes: int = NOTES) -> Report:
    """Start a database, have a process of its own fill and ask it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    options = [*FAST, "shared_buffers=512MB", "maintenance_work_mem=256MB"]
    with private_postgres(options=options) as url, tempfile.TemporaryDirectory() as data:
        (Path(data) / "static").mkdir()
        own = {"DATABASE_URL": url, "DEIDREVIEW_DATA": data, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.plans", "--notes", str(notes)],
            cwd=ROOT,
            env=clean | own,
            stdout=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        )
    if done.returncode:
        raise RuntimeError("the query plans could not be had; the reason is above")
    return Report(**json.loads(done.stdout))


def _child(notes: int) -> None:
    """In a process with Django: migrate, fill, explain; the report as JSON on standard output."""
    import django

    django.setup()
    from django.core.management import call_command

    from tests.bench.explain import explain
    from tests.bench.generated import make
    from tests.bench.hot import actions

    call_command("migrate", verbosity=0)
    began = time.monotonic()
    large = make(notes)
    seconds = time.monotonic() - began
    found = []
    for action in actions(large):
        explained = explain(action.name, action.act, summary=action.summary)
        plans = [asdict(plan) | {"title": plan.title} for plan in explained.plans]
        row = {"action": action.name, "summary": action.summary, "faults": explained.faults, "plans": plans}
        found.append(row)
    print(json.dumps(asdict(Report(large.notes, large.spans, seconds, found))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=NOTES)
    _child(parser.parse_args().notes)
