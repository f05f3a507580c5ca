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
import time
from dataclasses import asdict, dataclass
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

    def __str__(self) -> str:
        lines = [
            f"{self.notes:,} notes, {self.spans:,} spans, made in {self.seconds:.0f} s; times are the database's own"
        ]
        lines += _lines([action for action in self.actions if not action["summary"]])
        lines += ["", "Whole projects, counted or walked by intention:"]
        lines += _lines([action for action in self.actions if action["summary"]])
        lines += ["", *([f"FAULT {fault}" for fault in self.flagged] or ["No sequential scan, no long walk."])]
        return "\n".join(lines)


def _lines(actions: list[dict[str, Any]]) -> list[str]:
    lines = []
    for action in actions:
        total = sum(plan["ms"] for plan in action["plans"])
        rows = sum(plan["rows"] for plan in action["plans"])
        lines.append(f"{action['action']}: {len(action['plans'])} statements, {rows:,} rows, {total:.2f} ms")
        for plan in action["plans"]:
            nodes = ", ".join(dict.fromkeys(node for node in plan["nodes"] if " " in node))
            lines.append(f"    {plan['ms']:8.2f} ms {plan['rows']:9,} rows  {plan['title']:28} {nodes}"[:200])
    return lines


def report(notes: int = NOTES) -> Report:
    """Start a database, have a process of its own fill and ask it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with private_postgres(options=[*FAST, "shared_buffers=512MB", "maintenance_work_mem=256MB"]) as url:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.plans", "--notes", str(notes)],
            cwd=ROOT,
            env={**clean, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"},
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
