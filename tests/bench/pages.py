"""Pages: a note opened, the next note, the list of notes."""

import re

from tests.bench.client import Browser
from tests.bench.figures import Figure, over_rounds, percentile
from tests.bench.people import ANNOTATORS, MANAGER, PASSWORD, PROJECT, Bench, note_urls, reading

PART = "pages"
TIMES = 100
AIM = 10
NEXT = re.compile(r'rel="next" href="([^"]+)"')


def measure(bench: Bench) -> list[Figure]:
    urls = note_urls(bench)[400:]
    annotator = bench.product.signed_in(ANNOTATORS[-1], PASSWORD)
    manager = bench.product.signed_in(MANAGER, PASSWORD)
    measures = {
        "open a note": lambda: _open(annotator, urls),
        "next note": lambda: _next(annotator, urls),
        "list of 500 notes": lambda: _list(manager),
    }
    figures = []
    for name, take in measures.items():
        take()  # templates are loaded and connections open
        rounds = [take() for _ in range(bench.rounds)]
        p50, p95 = ([percentile(times, percent) for times in rounds] for percent in (50, 95))
        figures.append(over_rounds(PART, f"{name}, p50", p50, "ms", aim=AIM))
        figures.append(over_rounds(PART, f"{name}, p95", p95, "ms"))
    annotator.close()
    manager.close()
    return figures


def _open(browser: Browser, urls: list[str]) -> list[float]:
    """The page of one note, with text, spans, labels and the list beside it: the only request that is not cached."""
    times = []
    for url in (urls * 2)[:TIMES]:
        answer = browser.get(url)
        reading(answer)
        times.append(answer.took)
    return times


def _next(browser: Browser, urls: list[str]) -> list[float]:
    """What follows when a note is handed in: where next, and that note's page."""
    times = []
    for url in (urls * 2)[:TIMES]:
        number = url.split("/")[-3]
        where = browser.get(f"/projects/{PROJECT}/notes/next/?after={number}", expect=302)
        page = browser.get(where.location)
        reading(page)
        times.append(where.took + page.took)
    return times


def _list(browser: Browser) -> list[float]:
    """The manager's list: every note's readings and gold; each page of it once, then again."""
    times: list[float] = []
    url = start = f"/projects/{PROJECT}/notes/"
    while len(times) < TIMES:
        answer = browser.get(url)
        times.append(answer.took)
        further = NEXT.search(answer.text)
        url = further[1].replace("&amp;", "&") if further else start
    return times
