"""A run of the rules over 100,000 short notes, by one worker and by two: notes a second, and memory that stays flat.

Meanwhile a browser looks at the list of runs every second, as a manager would.
"""

import contextlib
import random
import subprocess
import sys
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from pathlib import Path
from statistics import median

from tests.bench import corpus
from tests.bench.client import Browser
from tests.bench.figures import Figure
from tests.bench.machine import Memory, command_line, environment, memory, tree
from tests.bench.people import MANAGER, PASSWORD, Bench, new_member, new_project
from tests.bench.product import ROOT, Product

PART = "many"
NOTES = 100_000
PROJECT = "many"
ROLES = {"gunicorn": "web", "manage work": "worker"}
# What grows with the notes would be far above this (MiB).
FLAT = 8.0
# When memory is shown besides, as shares of a run's time.
SHARES = (0.1, 0.5, 1.0)


def measure(bench: Bench) -> list[Figure]:
    product = bench.product
    new_project(product, PROJECT)
    new_member(product, PROJECT, MANAGER, "manager")
    product.manage("import_documents", PROJECT, _notes(bench.data), "--format", "text", "--language", "es")
    browser = product.signed_in(MANAGER, PASSWORD)
    figures = []
    with contextlib.closing(browser):
        for workers in (1, 2):
            with _further_workers(product, workers - 1) as pids:
                figures += _run(product, browser, workers, pids)
    return figures


def _notes(folder: Path) -> Path:
    """A zip of NOTES short notes, no two alike."""
    file = folder / "many.zip"
    chance, vocabulary = random.Random(6), corpus.VOCABULARY.split()
    with zipfile.ZipFile(file, "w") as packed:
        for number in range(NOTES):
            words = " ".join(chance.choices(vocabulary, k=20))
            day = f"{chance.randint(1, 28):02}/{chance.randint(1, 12):02}/20{chance.randint(10, 24)}"
            text = f"Nombre: Mario Rossi. NHC: {number:07}. Fecha: {day}. {words}. Médico: Ana Pérez."
            packed.writestr(f"n{number:06}.txt", text)
    return file


@contextlib.contextmanager
def _further_workers(product: Product, count: int) -> Iterator[list[int]]:
    """Workers beside the product's own, with its environment."""
    assert product.process is not None
    own = next(pid for pid in tree(product.process.pid) if "manage work" in command_line(pid))
    command = [sys.executable, "-m", "manage", "work"]
    started = [subprocess.Popen(command, cwd=ROOT, env=environment(own)) for _ in range(count)]
    try:
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.terminate()
            each.wait(60)


@dataclass
class Watched:
    """Memory by role, one sample a second, of all processes of a role together."""

    samples: dict[str, list[Memory]] = field(default_factory=lambda: defaultdict(list))

    def sample(self, roots: list[int]) -> None:
        now: dict[str, list[Memory]] = defaultdict(list)
        for pid in (pid for root in roots for pid in tree(root)):
            line = command_line(pid)
            for word, role in ROLES.items():
                if word in line:
                    now[role].append(memory(pid))
        for role, each in now.items():
            rss, pss, own = (sum(sizes) for sizes in zip(*map(astuple, each), strict=True))
            self.samples[role].append(Memory(rss, pss, own))

    def own_at(self, role: str, share: float) -> float:
        """Of what is their own, when that share of the time had gone by."""
        sizes = self.samples[role]
        return sizes[min(int(share * len(sizes)), len(sizes) - 1)].own

    def growth(self, role: str) -> float:
        """Of what is their own, from the second fifth of the time, when all is loaded, to the last."""
        sizes = [sample.own for sample in self.samples[role]]
        fifth = max(1, len(sizes) // 5)
        return median(sizes[-fifth:]) - median(sizes[fifth : 2 * fifth] or sizes)


def _run(product: Product, browser: Browser, workers: int, pids: list[int]) -> list[Figure]:
    assert product.process is not None
    watched, roots = Watched(), [product.process.pid, *pids]
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(product.manage, "run_model", PROJECT, "rules", "--wait")
        while not run.done():
            browser.get(f"/projects/{PROJECT}/runs/")
            watched.sample(roots)
            time.sleep(1)
        report = run.result()
    if report["done"] != NOTES:
        raise RuntimeError(f"{report['done']} notes were done")
    by = f"{workers} worker{'s' if workers > 1 else ''}"
    figures = [Figure(PART, f"{NOTES:,} short notes, {by}", NOTES / float(report["seconds"]), "notes/s")]
    for role, samples in watched.samples.items():
        figures.append(Figure(PART, f"{role}, {by}, highest PSS", max(sample.pss for sample in samples), "MiB"))
        for share in SHARES:
            figures.append(Figure(PART, f"{role}, {by}, its own at {share:.0%}", watched.own_at(role, share), "MiB"))
        figures.append(Figure(PART, f"{role}, {by}, growth of its own", watched.growth(role), "MiB", aim=FLAT))
    return figures
