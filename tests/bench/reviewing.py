"""Review at scale: by string over 1,000,000 suggestions, one decision, and 50,000 accepted in bulk by a job.

Run as a program it makes the project, with the rows written straight into the running product's database.
DEIDREVIEW_BENCH_NOTES asks for another number of notes, each with 100 suggestions.
"""

import os
import random
import re
import subprocess
import sys
import time

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.people import MANAGER, PASSWORD, Bench, new_member, new_project
from tests.bench.product import ROOT

PART = "review"
PROJECT = "proposing"
NOTES = int(os.environ.get("DEIDREVIEW_BENCH_NOTES", "10000"))
SPANS = 100
# The second run reads every other note.
RUNS = ("first", "second")
STRINGS = 120_000
TIMES = 30
AIM = 300
BASE = f"/projects/{PROJECT}/review/"
BULK = 50_000


def measure(bench: Bench) -> list[Figure]:
    new_project(bench.product, PROJECT)
    new_member(bench.product, PROJECT, f"{MANAGER}-8", "manager")
    words = [sys.executable, "-m", "tests.bench.reviewing"]
    subprocess.run(words, cwd=ROOT, env=bench.product.environ, check=True)
    manager = bench.product.signed_in(f"{MANAGER}-8", PASSWORD)
    runs = re.findall(r'name="run" id="of-run-(\d+)"', manager.get(f"{BASE}strings/").text)
    one = f"{BASE}strings/?run={runs[0]}"
    first = re.search(r"/review/strings/(\d+)/", manager.get(one).text)
    assert first is not None, "no string is listed"
    pages = {
        "strings of one run, first page": one,
        "strings of one run, least certain first": f"{one}&order=uncertainty",
        "strings of both runs, first page": f"{BASE}strings/",
        "the places of the most frequent string": f"{BASE}strings/{first[1]}/?run={runs[0]}",
    }
    figures = []
    for name, path in pages.items():
        manager.get(path)
        rounds = [percentile([manager.get(path).took for _ in range(TIMES)], 95) for _ in range(bench.rounds)]
        figures.append(over_rounds(PART, f"{name}, {NOTES * SPANS * 3 // 2:,} suggestions, p95", rounds, "ms", aim=AIM))
    figures.append(Figure(PART, f"accepting {BULK:,} in bulk, by a job", _bulk(manager, runs[0]), "s"))
    manager.close()
    return figures


def _bulk(browser: Browser, run: str) -> float:
    """Seconds from the click to the end of the job. The threshold leaves some BULK proposals."""
    least = 100 * (1 - BULK / (NOTES * SPANS))
    form = {"kind": "threshold", "runs": run, "least": f"{least:.4f}", "act": "accept"}
    planned = browser.post_form(f"{BASE}bulk/", form, expect=303)
    began = time.monotonic()
    job = browser.post_form(f"{planned.location}start", {}, expect=302)
    # The page asks for itself again while the job is at work.
    while 'hx-trigger="every 1s"' in browser.get(job.location).text:
        time.sleep(0.2)
    return time.monotonic() - began


# ── In the product's own database ────────────────────────────────────────────────────────────────────────────────────


def fill() -> None:
    """Every word of a note is a suggestion; words are as unequal in frequency as names are."""
    from django.db import transaction

    from annotations.domain.strings import string_key
    from annotations.models import AnnotationSet, Author, Document, Label, Project, Span
    from annotations.services.bulk import SpanRow, insert_spans
    from annotations.services.proposed_strings import add_strings, tally_of

    chance = random.Random(11)
    project = Project.objects.get(slug=PROJECT)
    labels = list(Label.objects.filter(label_set__project=project).values_list("pk", flat=True))[:8]
    authors = [Author.objects.create(project=project, kind=Author.Kind.RUN, name=name) for name in RUNS]
    words = [f"nome{n:06}" for n in range(STRINGS)]
    keys = [string_key(word) for word in words]
    width = len(words[0]) + 1
    for start in range(0, NOTES, 500):
        with transaction.atomic():
            numbers = range(start, min(start + 500, NOTES))
            said = {n: [int(STRINGS * chance.random() ** 3) for _ in range(SPANS)] for n in numbers}
            notes = Document.objects.bulk_create(
                Document(
                    project=project, name=f"note-{n:06}", sha256=f"{n:064}", length=SPANS * width,
                    text=" ".join(words[each] for each in said[n]) + "\n",
                )
                for n in numbers
            )  # fmt: skip
            pairs = [(n, note, a) for n, note in zip(numbers, notes, strict=True) for a in authors[: 2 - n % 2]]
            sets = AnnotationSet.objects.bulk_create(
                AnnotationSet(document=note, author=author, state="submitted", blind=False) for _, note, author in pairs
            )
            insert_spans(
                SpanRow(
                    row.pk, at * width, (at + 1) * width - 1, labels[each % len(labels)], chance.random(), "model",
                    string_key=keys[each],
                )
                for (n, _, _), row in zip(pairs, sets, strict=True)
                for at, each in enumerate(said[n])
            )  # fmt: skip
            add_strings(tally_of(Span.objects.filter(annotation_set__in=sets)))


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    django.setup()
    fill()
