"""A run of the rules through the whole queue: notes a second, and what the queue costs beside the backend."""

import statistics
import time

from models_runtime.backends.rules import RulesBackend
from tests.bench import corpus
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import PROJECT, Bench

PART = "run"


def measure(bench: Bench) -> list[Figure]:
    alone = _backend_alone(bench)
    whole = [_through_the_queue(bench) for _ in range(bench.rounds)]
    overhead = [1000 * (seconds - alone) / corpus.NOTES for seconds in whole]
    return [
        over_rounds(PART, "rules alone, in one process", [corpus.NOTES / alone], "notes/s"),
        over_rounds(PART, "a run through the queue", [corpus.NOTES / seconds for seconds in whole], "notes/s"),
        over_rounds(PART, "the queue's share (claim, write, progress)", overhead, "ms/note"),
    ]


def _backend_alone(bench: Bench) -> float:
    texts = [file.read_bytes().decode() for file in sorted(bench.notes.glob("*.txt"))]
    backend = RulesBackend(label_set="meddocan")
    taken = []
    for _ in range(bench.rounds):
        begun = time.perf_counter()
        backend.predict(texts)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def _through_the_queue(bench: Bench) -> float:
    """Seconds that the worker held the job, by the job's own row."""
    report = bench.product.manage("run_model", PROJECT, "rules", "--wait")
    if report["done"] != corpus.NOTES:
        raise RuntimeError(f"{report['done']} notes were done")
    return float(report["seconds"])
