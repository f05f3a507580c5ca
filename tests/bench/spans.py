"""One span: one person, then eight at once, each as a process of its own with its own notes.

A span is one POST, as `static/js/workbench` sends it; when the answer is there the span is on disk.
"""

import multiprocessing
import re
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from uuid import uuid4

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.machine import commit_times
from tests.bench.people import ANNOTATORS, PASSWORD, Bench, note_urls, reading

PART = "span"
ALONE_SPANS = 400
TOGETHER_SECONDS = 5.0
WARM_UP = 25
# No note is taken twice: each person goes through a share of the project, round by round.
NOTES_EACH = 60
WORD = re.compile(r"\w+")


class Person:
    """Somebody who labels every word of one note after the other."""

    def __init__(self, port: int, name: str, notes: list[str]) -> None:
        self.browser = Browser(port)
        self.browser.sign_in(name, PASSWORD)
        self._changes = self._all(notes)

    def span(self) -> float:
        """One more span; milliseconds until it is acknowledged."""
        return next(self._changes)

    def _all(self, notes: list[str]) -> Iterator[float]:
        for url in notes:
            page = reading(self.browser.get(url))
            text, labels, version = page["text"], page["labels"], page["version"]
            words = list(WORD.finditer(text))
            there = {(span["start"], span["end"]) for span in page["spans"]}
            for number, word in enumerate(words):
                if word.span() in there:
                    continue
                change = _create(page, word.start(), word.end(), labels[number % len(labels)]["id"], version)
                answer = self.browser.post_json(page["urls"]["changes"], change)
                version = _made(answer.json(), change)
                yield answer.took


def _create(page: dict[str, Any], start: int, end: int, label: int, version: int) -> dict[str, Any]:
    return {
        "change_id": str(uuid4()),
        "kind": "create",
        "version": version,
        "start": start,
        "end": end,
        "label": label,
        # Characters of the basic plane only would let UTF-16 units pass for code points; Python counts the latter.
        "quote": page["text"][start:end],
        "person": page["person"],
    }


def _made(answer: dict[str, Any], change: dict[str, Any]) -> int:
    """The reading's new version. Raises RuntimeError where the span was not made exactly as asked."""
    span = answer["span"]
    if [span[key] for key in ("start", "end", "label")] != [change[key] for key in ("start", "end", "label")]:
        raise RuntimeError("another span was made than was asked for")
    if answer.get("already") or answer["version"] != change["version"] + 1:
        raise RuntimeError("the span was there already, or the reading changed meanwhile")
    return int(answer["version"])


def measure(bench: Bench) -> list[Figure]:
    urls, turns = note_urls(bench), bench.turns
    alone, together, commits = [], [], []
    for _ in range(bench.rounds):
        turn = next(turns) % 5
        commits += commit_times(bench.data)
        alone.append(_alone(bench, urls[turn::NOTES_EACH]))
        commits += commit_times(bench.data)
        together.append(_together(bench, turn, urls))
    return [*_alone_figures(alone, commits), *_together_figures(together)]


def _alone(bench: Bench, urls: list[str]) -> tuple[list[float], float]:
    """Milliseconds of each span, and requests per span."""
    person = Person(bench.product.port, ANNOTATORS[0], urls)
    for _ in range(WARM_UP):
        person.span()
    before = person.browser.posts
    times = [person.span() for _ in range(ALONE_SPANS)]
    person.browser.close()
    return times, (person.browser.posts - before) / len(times)


def _work(name: str, port: int, urls: list[str], start: Any, found: Any) -> None:
    """One of eight, in a process of its own; everything but the spans is done before the common start."""
    try:
        person = Person(port, name, urls)
        for _ in range(WARM_UP):
            person.span()
        start.wait(60)
        began, times = time.monotonic(), []
        while time.monotonic() - began < TOGETHER_SECONDS:
            times.append(person.span())
        found.put((times, time.monotonic() - began))
    except BaseException as error:
        start.abort()
        found.put(repr(error))


def _together(bench: Bench, turn: int, urls: list[str]) -> tuple[list[float], float]:
    """Milliseconds of each span, and spans a second of all eight."""
    context = multiprocessing.get_context("fork")
    start, found = context.Barrier(len(ANNOTATORS)), context.Queue()
    people = []
    for number, name in enumerate(ANNOTATORS):
        mine = urls[number * NOTES_EACH + turn * 12 : (number + 1) * NOTES_EACH]
        people.append(context.Process(target=_work, args=(name, bench.product.port, mine, start, found)))
    for person in people:
        person.start()
    results = [found.get(timeout=120) for _ in people]
    for person in people:
        person.join()
    failed = [result for result in results if isinstance(result, str)]
    if failed:
        raise RuntimeError(f"a client failed: {failed[0]}")
    times = [took for each, _ in results for took in each]
    return times, sum(len(each) / seconds for each, seconds in results)


def _alone_figures(rounds: list[tuple[list[float], float]], commits: list[float]) -> list[Figure]:
    disk = median(commits)
    p50 = [percentile(times, 50) for times, _ in rounds]
    above = [each - disk for each in p50]
    return [
        Figure(PART, "the disk's own commit, p50", disk, "ms"),
        Figure(PART, "the disk's own commit, p95", percentile(commits, 95), "ms"),
        over_rounds(PART, "a span, 1 client, p50", p50, "ms"),
        over_rounds(PART, "a span, 1 client, p50 above the commit", above, "ms", aim=4),
        over_rounds(PART, "a span, 1 client, p95", [percentile(times, 95) for times, _ in rounds], "ms"),
        Figure(PART, "requests for a span", max(requests for _, requests in rounds), "", aim=1),
    ]


def _together_figures(rounds: list[tuple[list[float], float]]) -> list[Figure]:
    return [
        over_rounds(PART, "spans, 8 clients", [rate for _, rate in rounds], "per s", aim=500, at_least=True),
        over_rounds(PART, "a span, 8 clients, p50", [percentile(times, 50) for times, _ in rounds], "ms"),
        over_rounds(PART, "a span, 8 clients, p95", [percentile(times, 95) for times, _ in rounds], "ms"),
    ]
