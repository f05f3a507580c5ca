"""The disagreements of 10,000 notes with three readings each: comparing all, the pages, and after submissions.

Run as a program it makes the project, with the rows written straight into the running product's database.
"""

import random
import subprocess
import sys
import time
from typing import Any

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.people import MANAGER, PASSWORD, Bench, new_member, new_project
from tests.bench.product import ROOT

PART = "disagreements"
PROJECT = "differing"
NOTES = 10_000
READERS = ("first", "second", "third")
WORDS_OF_A_NOTE = 400
SPANS = 12
TIMES = 30
AIM = 300
PAGE = f"/projects/{PROJECT}/agreement/disagreements/"
LIST = f"/projects/{PROJECT}/adjudicate/"


def measure(bench: Bench) -> list[Figure]:
    new_project(bench.product, PROJECT)
    new_member(bench.product, PROJECT, f"{MANAGER}-7", "manager")
    _as_program(bench, "fill")
    manager = bench.product.signed_in(f"{MANAGER}-7", PASSWORD)
    figures = [Figure(PART, f"comparing {NOTES:,} notes × {len(READERS)} for the first time", _compare(manager), "s")]
    measures = {
        "disagreements, first page": lambda: [manager.get(PAGE).took for _ in range(TIMES)],
        "disagreements of one kind, page by page": lambda: _walk(manager, f"{PAGE}?kind=boundary"),
        "notes to adjudicate": lambda: [manager.get(LIST).took for _ in range(TIMES)],
        "disagreements, after ten notes were handed in anew": lambda: _anew(bench, manager),
    }
    for name, take in measures.items():
        take()  # templates are loaded and connections open
        rounds = [percentile(take(), 95) for _ in range(bench.rounds)]
        figures.append(over_rounds(PART, f"{name}, p95", rounds, "ms", aim=AIM))
    manager.close()
    return figures


def _compare(browser: Browser) -> float:
    """The page itself, then its progress bar as the browser asks for it, until nothing is left."""
    began = time.monotonic()
    while 'id="comparing"' in browser.get(PAGE).text:
        pass
    return time.monotonic() - began


def _walk(browser: Browser, start: str) -> list[float]:
    times: list[float] = []
    url = start
    while len(times) < TIMES:
        answer = browser.get(url)
        times.append(answer.took)
        _, _, further = answer.text.partition('rel="next" href="')
        url = PAGE + further.partition('"')[0].replace("&amp;", "&") if further else start
    return times


def _anew(bench: Bench, browser: Browser) -> list[float]:
    times = []
    for _ in range(3):
        _as_program(bench, "anew")
        times.append(browser.get(PAGE).took)
    return times


def _as_program(bench: Bench, what: str) -> None:
    words = [sys.executable, "-m", "tests.bench.disagreeing", what]
    subprocess.run(words, cwd=ROOT, env=bench.product.environ, check=True)


# ── In the product's own database ────────────────────────────────────────────────────────────────────────────────────


def fill() -> None:
    """Notes of some 2,700 characters; of twelve spans every annotator leaves out, moves or relabels a few."""
    from django.db import transaction

    from annotations.core.bulk import SpanRow, insert_spans
    from annotations.models import AnnotationSet, Author, Document, Label, Project

    chance = random.Random(7)
    project = Project.objects.get(slug=PROJECT)
    labels = list(Label.objects.filter(label_set__project=project).values_list("pk", flat=True))
    authors = [Author.objects.create(project=project, kind=Author.Kind.ANNOTATOR, name=name) for name in READERS]
    text = ("paciente " * 9 + "ingresado hoy.\n") * (WORDS_OF_A_NOTE // 11)
    with transaction.atomic():
        Document.objects.bulk_create(
            (
                Document(project=project, name=f"note-{n:05}", sha256=f"{n:064}", length=len(text), text=text)
                for n in range(NOTES)
            ),
            batch_size=500,
        )
        ids = list(Document.objects.filter(project=project).values_list("pk", flat=True))
        AnnotationSet.objects.bulk_create(
            (AnnotationSet(document_id=pk, author=author, state="submitted") for pk in ids for author in authors),
            batch_size=2000,
        )
        sets: dict[int, list[int]] = {}
        for pk, document in AnnotationSet.objects.filter(author__in=authors).values_list("pk", "document_id"):
            sets.setdefault(document, []).append(pk)
        insert_spans(
            SpanRow(pk, start, end, label)
            for readings in sets.values()
            for marked in [_marked(chance, labels)]
            for pk in readings
            for start, end, label in _differently(chance, marked, labels)
        )


def _marked(chance: random.Random, labels: list[int]) -> list[tuple[int, int, int]]:
    places = chance.sample(range(200), SPANS)
    return [(place * 12, place * 12 + 8, chance.choice(labels)) for place in places]


def _differently(
    chance: random.Random, marked: list[tuple[int, int, int]], labels: list[int]
) -> list[tuple[int, int, int]]:
    said = []
    for start, end, label in marked:
        turn = chance.random()
        if turn < 0.05:
            continue
        if turn < 0.10:
            said.append((start, end + 3, label))
        else:
            said.append((start, end, chance.choice(labels) if turn < 0.13 else label))
    return said


def anew() -> None:
    """Ten readings are handed in again."""
    from django.db.models import F

    from annotations.models import AnnotationSet

    rows = AnnotationSet.objects.filter(author__project__slug=PROJECT).order_by("pk")
    ids: list[Any] = list(rows.values_list("pk", flat=True)[:: NOTES * len(READERS) // 10])
    AnnotationSet.objects.filter(pk__in=ids).update(version=F("version") + 1)


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    django.setup()
    {"fill": fill, "anew": anew}[sys.argv[1]]()
