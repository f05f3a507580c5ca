"""Review at scale: by string over 1,000,000 suggestions, the next note by every order, one decision (also on a merged
list, and by the first and the second of two reviewers), and 50,000 accepted in bulk by a job.

Run as a program it makes the project, with the rows written straight into the running product's database.
DEIDREVIEW_BENCH_NOTES asks for another number of notes, each with 100 suggestions.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.people import MANAGER, PASSWORD, Bench, new_member, new_project, reading
from tests.bench.product import ROOT

PART = "review"
PROJECT = "proposing"
PEOPLE = (f"{MANAGER}-8", f"{MANAGER}-9")
NOTES = int(os.environ.get("DEIDREVIEW_BENCH_NOTES", "10000"))
SPANS = 100
# The second run reads every other note. The merged list is of the first notes that both read.
RUNS = ("first", "second")
TOGETHER = "first+second"
MERGED = 200
STRINGS = 120_000
SOURCES = 12
TIMES = 30
AIM = 300
DECISION = 15
ORDERS = ("note", "uncertainty", "false", "label", "informative")
# Decisions of a round: so many notes, so many proposals of each.
DECIDED_NOTES, DECIDED = 5, 20
BASE = f"/projects/{PROJECT}/review/"
BULK = 50_000
# A program that takes longer than this (seconds) hangs.
LONGEST = 1800


def measure(bench: Bench) -> list[Figure]:
    new_project(bench.product, PROJECT)
    for name in PEOPLE:
        new_member(bench.product, PROJECT, name, "manager")
    runs = json.loads(_program(bench, "fill", str(NOTES)))
    whole = runs[RUNS[0]]
    with _signed_in(bench) as manager:
        figures = [*_strings(bench, manager, whole), *_next(bench, manager, whole, "")]
        figures += _decisions(bench, manager, "of one run", whole)
        figures += _decisions(bench, manager, "of a merged list", runs[TOGETHER])
    _program(bench, "two")
    figures += _two(bench, whole)
    _program(bench, "one")
    with _signed_in(bench) as manager:
        figures.append(Figure(PART, f"accepting {BULK:,} in bulk, by a job", _bulk(manager, whole), "s"))
        figures += _next(bench, manager, whole, ", after that")
    return figures


@contextmanager
def _signed_in(bench: Bench, name: str = PEOPLE[0]) -> Iterator[Browser]:
    """For as long as there is something to ask: the server ends a connection that is idle for half a minute."""
    browser = bench.product.signed_in(name, PASSWORD)
    yield browser
    browser.close()


def _program(bench: Bench, *asked: str) -> bytes:
    """What it prints. The product's environment says nothing of this bench."""
    words = [sys.executable, "-m", "tests.bench.reviewing", *asked]
    done = subprocess.run(
        words, cwd=ROOT, env=bench.product.environ, check=True, timeout=LONGEST, stdout=subprocess.PIPE
    )
    return done.stdout


def _strings(bench: Bench, manager: Browser, run: int) -> list[Figure]:
    one = f"{BASE}strings/?run={run}"
    first = re.search(r"/review/strings/(\d+)/", manager.get(one).text)
    assert first is not None, "no string is listed"
    pages = {
        "strings of one run, first page": one,
        "strings of one run, least certain first": f"{one}&order=uncertainty",
        "strings of both runs, first page": f"{BASE}strings/",
        "the places of the most frequent string": f"{BASE}strings/{first[1]}/?run={run}",
    }
    figures = []
    for name, path in pages.items():
        manager.get(path)
        rounds = [percentile([manager.get(path).took for _ in range(TIMES)], 95) for _ in range(bench.rounds)]
        figures.append(over_rounds(PART, f"{name}, {NOTES * SPANS * 3 // 2:,} suggestions, p95", rounds, "ms", aim=AIM))
    return figures


def _next(bench: Bench, browser: Browser, run: int, when: str) -> list[Figure]:
    """From one note to the next, by each order; of one label too."""
    page = reading(browser.get(browser.get(f"{BASE}{run}/", expect=302).location))
    asked = {f"by {order}": f"order={order}" for order in ORDERS} | {
        "by uncertainty, of one label": f"order=uncertainty&label={page['labels'][3]['id']}"
    }
    figures = []
    for name, query in asked.items():
        rounds = []
        for _ in range(bench.rounds):
            times, after = [], ""
            for _ in range(TIMES):
                answer = browser.get(f"{BASE}{run}/?{query}&after={after}", expect=302)
                after = re.findall(r"/(\d+)/", answer.location)[-1]
                times.append(answer.took)
            rounds.append(percentile(times, 95))
        figures.append(over_rounds(PART, f"next note {name} of {NOTES:,}{when}, p95", rounds, "ms", aim=AIM))
    return figures


# ── Decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _decisions(bench: Bench, browser: Browser, name: str, run: int) -> list[Figure]:
    rounds = []
    for _ in range(bench.rounds):
        times: list[float] = []
        for page in _notes(browser, run):
            times += _decide(browser, page)
            _close(browser, page)
        rounds.append(times)
    return _taken(name, rounds)


def _taken(name: str, rounds: list[list[float]]) -> list[Figure]:
    p50, p95 = ([percentile(times, at) for times in rounds] for at in (50, 95))
    return [
        over_rounds(PART, f"a decision {name}, request, p50", p50, "ms"),
        over_rounds(PART, f"a decision {name}, request, p95", p95, "ms", aim=DECISION),
    ]


def _two(bench: Bench, run: int) -> list[Figure]:
    """The first reviewer's decisions, and the blind second one's of the same notes."""
    by_first, by_second = [], []
    for _ in range(bench.rounds):
        of_first: list[float] = []
        of_second: list[float] = []
        with _signed_in(bench) as first:
            for page in _notes(first, run):
                of_first += _decide(first, page)
                _close(first, page)
        with _signed_in(bench, PEOPLE[1]) as second:
            for page in _notes(second, run):
                if page["stage"] != "second":
                    raise RuntimeError("a note that waits for the second reviewer does not come first")
                of_second += _decide(second, page)
                _close(second, page)
        by_first.append(of_first)
        by_second.append(of_second)
    return _taken("of the first of two reviewers", by_first) + _taken("of the second, blind", by_second)


def _notes(browser: Browser, run: int) -> Iterator[dict[str, Any]]:
    for _ in range(DECIDED_NOTES):
        yield reading(browser.get(browser.get(f"{BASE}{run}/", expect=302).location))


def _decide(browser: Browser, page: dict[str, Any]) -> list[float]:
    """Accept, accept, reject, undo the rejection and so on; milliseconds of each."""
    waiting = [proposal["id"] for proposal in page["proposals"] if proposal["state"] == "open"]
    times = []
    for number, proposal in enumerate(waiting[:DECIDED]):
        act = "reject" if number % 3 == 2 else "accept"
        change = {"change_id": str(uuid4()), "act": act, "proposal": proposal, "seen": ["open"]}
        answer = browser.post_json(page["urls"]["decide"], change | {"person": page["person"]})
        times.append(answer.took)
        left = sum(each["state"] == "open" for each in answer.json()["proposals"])
        if left > len(waiting) - number - 1:
            raise RuntimeError("a decision left its proposal open")
    return times


def _close(browser: Browser, page: dict[str, Any]) -> None:
    """With what is left accepted; of rivals the first, as a reviewer would."""
    state = browser.get(page["urls"]["state"]).json()
    rest, rivals = [], set()
    for proposal in state["proposals"]:
        if proposal["state"] == "open":
            if proposal["id"] in rivals:
                change = {"change_id": str(uuid4()), "act": "reject", "proposal": proposal["id"], "seen": ["open"]}
                browser.post_json(page["urls"]["decide"], change | {"person": page["person"]})
            else:
                rest.append(proposal["id"])
                rivals |= set(proposal.get("rivals", ()))
    form = {"rest": rest, "stage": state["stage"], "person": page["person"]}
    browser.post_json(page["urls"]["close"], form)


def _bulk(browser: Browser, run: int) -> float:
    """Seconds from the click to the end of the job. The threshold leaves some BULK proposals."""
    least = 100 * (1 - BULK / (NOTES * SPANS))
    form = {"kind": "threshold", "runs": str(run), "least": f"{least:.4f}", "act": "accept"}
    planned = browser.post_form(f"{BASE}bulk/", form, expect=303)
    began = time.monotonic()
    job = browser.post_form(f"{planned.location}start", {}, expect=302)
    # The page asks for itself again while the job is at work.
    while 'hx-trigger="every 1s"' in browser.get(job.location).text:
        if time.monotonic() - began > LONGEST:
            raise RuntimeError("the bulk act does not end")
        time.sleep(0.2)
    return time.monotonic() - began


# ── In the product's own database ────────────────────────────────────────────────────────────────────────────────────


def fill(count: int) -> dict[str, int]:
    """The runs' authors by name. Every word of a note is a suggestion; words are as unequal in frequency as names are.

    The second run gives one word in five another label, so that a merged list has rivals.
    """
    from django.db import connection, transaction

    from annotations.core.bulk import SpanRow, insert_spans
    from annotations.core.proposed_notes import add_notes
    from annotations.domain.strings import string_key
    from annotations.models import AnnotationSet, Author, Document, Label, Project

    with connection.cursor() as cursor:
        # The product's 8 MiB are for small changes. Here every row goes anywhere into the indexes: without room for
        # them each row would write a page, and read one, and the rows would never be done.
        cursor.execute("PRAGMA cache_size=-1000000")
    chance = random.Random(11)
    project = Project.objects.get(slug=PROJECT)
    labels = list(Label.objects.filter(label_set__project=project).values_list("pk", flat=True))[:8]
    authors = [Author.objects.create(project=project, kind=Author.Kind.RUN, name=name) for name in RUNS]
    words = [f"nome{n:06}" for n in range(STRINGS)]
    keys = [string_key(word) for word in words]
    width = len(words[0]) + 1
    for start in range(0, count, 500):
        with transaction.atomic():
            numbers = range(start, min(start + 500, count))
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
            rows = {
                row: [
                    SpanRow(
                        row.pk, at * width, (at + 1) * width - 1,
                        labels[(each + (row.author_id == authors[1].pk and each % 5 == 0)) % len(labels)],
                        chance.random(), f"rule:{each % SOURCES}", string_key=keys[each],
                    )
                    for at, each in enumerate(said[n])
                ]
                for (n, _, _), row in zip(pairs, sets, strict=True)
            }  # fmt: skip
            insert_spans(span for spans in rows.values() for span in spans)
            for author in authors:
                add_notes(
                    author.pk,
                    (
                        (row.document_id, [((s.string_key or 0, s.label_id), s.confidence) for s in spans])
                        for row, spans in rows.items()
                        if row.author_id == author.pk
                    ),
                )
    runs = [*authors, _merge(authors)]
    with connection.cursor() as cursor:
        cursor.execute(_STRINGS)
    return {author.name: author.pk for author in runs}


# As core.proposed_strings counts them, all at once.
_STRINGS = """
    INSERT INTO annotations_proposedstring
        (author_id, string_key, label_id, count, open, scored, confidence_sum, uncertainty, sample)
    SELECT reading.author_id, span.string_key, span.label_id, COUNT(*), COUNT(*), COUNT(span.confidence),
        SUM(span.confidence), 1 - 2 * ABS(AVG(span.confidence) - 0.5), MIN(span.id)
    FROM annotations_span span JOIN annotations_annotationset reading ON reading.id = span.annotation_set_id
    WHERE span.string_key IS NOT NULL
    GROUP BY reading.author_id, span.string_key, span.label_id
"""


def _merge(authors: list[Any]) -> Any:
    """The merged list of both runs, as its job writes it, of the first notes that both have read."""
    from django.db import transaction

    from annotations.core.bulk import SpanRow, insert_spans
    from annotations.domain.merging import merge
    from annotations.domain.spans import Span as DomainSpan
    from annotations.domain.strings import string_key
    from annotations.models import AnnotationSet, Author, Document, Span

    together = Author.objects.create(
        project=authors[0].project, kind=Author.Kind.RUN, name=TOGETHER, merged_from=[each.pk for each in authors]
    )
    with transaction.atomic():
        for note in Document.objects.filter(annotation_sets__author=authors[1]).order_by("pk")[:MERGED]:
            readings = [
                [
                    DomainSpan(s.start, s.end, str(s.label_id), s.confidence, s.source)
                    for s in Span.objects.filter(annotation_set__document=note, annotation_set__author=author)
                ]
                for author in authors
            ]
            made = AnnotationSet.objects.create(document=note, author=together, state="submitted", blind=False)
            insert_spans(
                SpanRow(
                    made.pk, span.start, span.end, int(span.label), span.confidence, span.source or "",
                    json.dumps(span.provenance), string_key=string_key(note.text[span.start : span.end]),
                )
                for span in merge(RUNS, readings)
            )  # fmt: skip
    return together


def reviewers(count: str) -> None:
    """Whether one reviewer is enough."""
    from annotations.models import Project
    from annotations.projects.services.projects import update_project

    update_project(
        project=Project.objects.get(slug=PROJECT), actor=None, second_review="blind" if count == "two" else "off"
    )


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    django.setup()
    if sys.argv[1] == "fill":
        print(json.dumps(fill(int(sys.argv[2]))))
    else:
        reviewers(sys.argv[1])
