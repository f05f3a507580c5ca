"""One span: one person, then eight at once, each with a connection and notes of their own.

A span is one POST, as `static/js/annotate` sends it; when the answer is there the span is on disk.
"""

from collections.abc import Iterator
from statistics import median

from tests.bench.client import Browser
from tests.bench.crowd import Writer, changes, checked, label_together
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.machine import commit_times
from tests.bench.people import ANNOTATORS, PASSWORD, Bench, note_urls, reading

PART = "span"
ALONE_SPANS = 400
TOGETHER_SECONDS = 5.0
WARM_UP = 25
WARM_UP_SECONDS = 0.5
# More than anybody makes in that time.
SPANS_EACH = 1200
# No note is taken twice: each person goes through a share of the project, round by round.
NOTES_EACH = 60


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
            for change in changes(page):
                answer = self.browser.post_json(page["urls"]["changes"], change)
                checked(answer.json(), change)
                yield answer.took


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


def _together(bench: Bench, turn: int, urls: list[str]) -> tuple[list[float], float]:
    """Milliseconds of each span, and spans a second of all eight."""
    writers = []
    for number, name in enumerate(ANNOTATORS):
        mine = urls[number * NOTES_EACH + turn * 12 : (number + 1) * NOTES_EACH]
        writers.append(Writer.signed_in(bench.product.port, name, mine, SPANS_EACH))
    label_together(writers, WARM_UP_SECONDS)
    for writer in writers:
        writer.times.clear()
        writer.answers.clear()
    rate = label_together(writers, TOGETHER_SECONDS)
    for writer in writers:
        writer.socket.close()
    return [took for writer in writers for took in writer.times], rate


def _alone_figures(rounds: list[tuple[list[float], float]], commits: list[float]) -> list[Figure]:
    disk = median(commits)
    p50 = [percentile(times, 50) for times, _ in rounds]
    p95 = [percentile(times, 95) for times, _ in rounds]
    return [
        Figure(PART, "the disk's own commit, p50", disk, "ms"),
        Figure(PART, "the disk's own commit, p95", percentile(commits, 95), "ms"),
        over_rounds(PART, "a span, 1 client, p50", p50, "ms"),
        over_rounds(PART, "a span, 1 client, p50 above the commit", [each - disk for each in p50], "ms", aim=4),
        over_rounds(PART, "a span, 1 client, p95 above the commit", [each - disk for each in p95], "ms", aim=8),
        Figure(PART, "requests for a span", max(requests for _, requests in rounds), "", aim=1),
    ]


def _together_figures(rounds: list[tuple[list[float], float]]) -> list[Figure]:
    return [
        over_rounds(PART, "spans, 8 clients", [rate for _, rate in rounds], "per s", aim=500, at_least=True),
        over_rounds(PART, "a span, 8 clients, p50", [percentile(times, 50) for times, _ in rounds], "ms"),
        over_rounds(PART, "a span, 8 clients, p95", [percentile(times, 95) for times, _ in rounds], "ms"),
    ]
