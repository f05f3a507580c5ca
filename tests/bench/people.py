"""The project that is measured: 500 notes, a manager, eight annotators who read every note, gold."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.bench import corpus
from tests.bench.figures import Figure
from tests.bench.product import Product

PROJECT = "bench"
PASSWORD = "a long enough password 7"
MANAGER = "manager"
ANNOTATORS = [f"annotator{number}" for number in range(1, 9)]


@dataclass
class Bench:
    """What the parts share: the running product, and how often each figure is taken."""

    product: Product
    rounds: int
    # Which notes are next to be labelled.
    turns: Iterator[int] = field(default_factory=count)
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self, word: str) -> str:
        """A name that was not used before."""
        return f"{word}-{next(self._numbers)}"

    @property
    def data(self) -> Path:
        return self.product.data

    @property
    def notes(self) -> Path:
        return corpus.folder(self.data)


Part = Callable[[Bench], list[Figure]]


def new_project(product: Product, name: str) -> None:
    product.manage("create_project", name, "--labels", "meddocan", "--language", "es")


def new_member(product: Product, project: str, name: str, role: str) -> None:
    words = ("add_member", project, name, "--role", role, "--create", "--password-stdin")
    product.manage(*words, stdin=f"{PASSWORD}\n")


def import_gold(product: Product, project: str, notes: Path) -> tuple[float, float]:
    """Seconds: of the command alone, and with the start of the interpreter. Checks what was taken."""
    inside, whole, report = product.timed("import_documents", project, notes, "--format", "brat", "--as", "gold")
    if (report["notes"], report["spans"]) != (corpus.NOTES, corpus.SPANS):
        raise RuntimeError(f"imported {report['notes']} notes and {report['spans']} spans")
    return inside, whole


def make_project(product: Product, notes: Path) -> None:
    """The project of the parts that ask over HTTP."""
    new_project(product, PROJECT)
    new_member(product, PROJECT, MANAGER, "manager")
    for name in ANNOTATORS:
        new_member(product, PROJECT, name, "annotator")
    import_gold(product, PROJECT, notes)


def reading(page: Any) -> dict[str, Any]:
    """What the annotate page hands to its script: text, labels, version, urls and whose reading it is."""
    return next(data for data in page.data() if "urls" in data)


def note_urls(bench: Bench) -> list[str]:
    """The addresses of the notes' annotate pages, in order. Imported in one go, they are numbered in one go."""
    browser = bench.product.signed_in(ANNOTATORS[0], PASSWORD)
    first = browser.get(f"/projects/{PROJECT}/notes/next/", expect=302).location
    browser.close()
    before, number, after = re.split(r"/notes/(\d+)/", first)
    return [f"{before}/notes/{int(number) + more}/{after}" for more in range(corpus.NOTES)]
