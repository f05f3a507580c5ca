"""`python -m tests.bench [--rounds N] [PART …]`: measure, print a table, write bench-results/."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import (
    acts,
    agreeing,
    disagreeing,
    exporting,
    importing,
    many,
    networks,
    pages,
    plans,
    queueing,
    readers,
    remembering,
    reviewing,
    rules,
    scoring,
    spans,
    starting,
    workbench,
)
from tests.bench.figures import Figure, table
from tests.bench.machine import Others, describe, wait_for_calm
from tests.bench.people import Bench, Part, make_project
from tests.bench.product import ROOT, Product

PARTS: dict[str, Part] = {
    module.PART: module.measure
    for module in (
        importing,
        spans,
        pages,
        workbench,
        acts,
        exporting,
        remembering,
        starting,
        queueing,
        agreeing,
        disagreeing,
        scoring,
        reviewing,
        many,
        networks,
    )
} | {rules.PART: lambda bench: rules.figures(), readers.PART: lambda bench: readers.figures(bench.rounds)}
# It needs no running product, but a PostgreSQL of its own.
PLANS = "plans"
# Parts that need the project with its people.
WITH_PROJECT = {"span", "pages", "export", "memory", "start", "run", "networks"}
QUIET = 0.1
RESULTS = ROOT / "bench-results"


def main() -> int:
    choices = [*PARTS, PLANS]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(choices)}; all when left out")
    parser.add_argument("--rounds", type=int, default=3, help="how often each figure is taken; medians are shown")
    parser.add_argument("--patience", type=float, default=0, metavar="MINUTES", help="wait for a calm machine, by part")
    options = parser.parse_args()
    unknown = set(options.parts) - set(choices)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(choices)}")
    wanted = options.parts or choices
    machine = describe()
    print(f"{machine['cores']} cores, {machine['processor']}; load before: {machine['load']:.2f}")
    print("The clients run on the same cores as the product.")
    figures, busy = _product_parts([part for part in PARTS if part in wanted], options.rounds, options.patience * 60)
    report = plans.report() if PLANS in wanted else None
    missed = [figure.name for figure in figures if figure.met is False]
    if report:
        print(f"\n── plans ──\n{report.text(statements=False)}")
        missed += report.flagged
    _save({"machine": machine, "others": busy, "figures": [figure.as_dict() for figure in figures]}, report)
    if missed:
        print(f"\nMissed: {', '.join(missed)}")
    return 1 if missed else 0


def _product_parts(parts: list[str], rounds: int, patience: float) -> tuple[list[Figure], dict[str, float]]:
    """The figures, and by part the share of the machine that others took meanwhile."""
    if not parts:
        return [], {}
    RESULTS.mkdir(exist_ok=True)
    # On the disk where the product's own data folder is, too. A temporary folder may be another disk, or a slower one.
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=RESULTS))
    product = Product(folder)
    figures, busy = [], {}
    try:
        product.start()
        bench = Bench(product, rounds)
        if WITH_PROJECT & set(parts):
            make_project(product, bench.notes)
        for part in parts:
            found, share = _measured(part, bench, patience)
            figures += found
            busy[part] = share
            noise = "" if share < QUIET else f"; NOISY: others took {share:.0%} of the machine"
            print(f"\n── {part} (load {os.getloadavg()[0]:.2f}{noise}) ──\n{table(found)}", flush=True)
    finally:
        product.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return figures, busy


def _measured(part: str, bench: Bench, patience: float) -> tuple[list[Figure], float]:
    """The part's figures, and the share of the machine that others took. With `patience` (seconds): begun when the
    machine is calm, and taken again while it was not; the calmest of all is kept."""
    deadline = time.monotonic() + patience
    best: tuple[list[Figure], float] | None = None
    while best is None or (best[1] >= QUIET and time.monotonic() < deadline):
        wait_for_calm(os.getpid(), QUIET, deadline)
        others = Others()
        with others.watch(os.getpid()):
            found = PARTS[part](bench)
        if best is None or others.share < best[1]:
            best = found, others.share
    return best


def _save(result: dict[str, object], report: plans.Report | None) -> None:
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    file = RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
    file.write_text(json.dumps({"at": now.isoformat(), **result}, indent=1, ensure_ascii=False))
    print(f"\nWritten to {file.relative_to(ROOT)}")
    if report:
        file = file.with_suffix(".plans.txt")
        file.write_text(report.text(statements=True))
        print(f"Every statement with its plan: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
