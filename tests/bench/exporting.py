"""Gold out: 500 notes as brat, into a folder."""

import time
from pathlib import Path

from tests.bench import corpus
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import PROJECT, Bench

PART = "export"


def measure(bench: Bench) -> list[Figure]:
    folders = [bench.data / bench.fresh("out") for _ in range(bench.rounds)]
    taken = [_export(bench, out) for out in folders]
    plain = [_plain_files(out) for out in folders]
    return [
        over_rounds(PART, "the disk's own time for as many files", plain, "s"),
        over_rounds(PART, "export, 500 notes as brat", [inside for inside, _ in taken], "s", aim=0.3),
        over_rounds(PART, "the same, with the start of the interpreter", [whole for _, whole in taken], "s"),
    ]


def _export(bench: Bench, out: Path) -> tuple[float, float]:
    words = ("export_documents", PROJECT, out, "--format", "brat", "--set", "gold")
    inside, whole, report = bench.product.timed(*words)
    written = len(list(out.glob("*.ann")))
    if (written, report["spans"]) != (corpus.NOTES, corpus.SPANS):
        raise RuntimeError(f"{written} notes and {report['spans']} spans were written")
    return inside, whole


def _plain_files(out: Path) -> float:
    """Seconds to write the files of the export again, and nothing else."""
    files = [(path.name, path.read_bytes()) for path in out.iterdir()]
    again = out.with_suffix(".again")
    again.mkdir()
    began = time.perf_counter()
    for name, content in files:
        (again / name).write_bytes(content)
    return time.perf_counter() - began
