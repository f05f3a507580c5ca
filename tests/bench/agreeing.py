"""Agreement on 1,000,000 tokens read by three annotators: from spans to every figure, in memory."""

import random
import time
from collections.abc import Callable

from annotations.domain.agreement import Granularity, NoteReadings, Setup, Unit, figures
from annotations.domain.spans import Span
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import Bench

PART = "agreement"
NOTES = 2000
TOKENS_OF_A_NOTE = 500
READERS = ("anna", "bruno", "carla")
LABELS = [f"LABEL{number}" for number in range(25)]
SETUP = Setup(READERS, LABELS, {label: f"CATEGORY{number % 7}" for number, label in enumerate(LABELS)})


def measure(bench: Bench) -> list[Figure]:
    notes = readings()

    def take(**options: object) -> list[float]:
        return [_seconds(lambda: figures(notes, SETUP, Unit.TOKEN, **options)) for _ in range(bench.rounds)]  # type: ignore[arg-type]

    by_label = take(wanted=[Granularity.SUBCATEGORY], samples=0)
    with_intervals = take(wanted=[Granularity.SUBCATEGORY])
    everything = take()
    size = "1,000,000 tokens × 3 annotators"
    bootstrap = [whole - part for whole, part in zip(with_intervals, by_label, strict=True)]
    return [
        over_rounds(PART, f"agreement, {size}: all figures by label", by_label, "s", aim=1.0),
        over_rounds(PART, "its bootstrap intervals, 1,000 samples of 2,000 notes", bootstrap, "s"),
        over_rounds(PART, "all four granularities with their intervals", everything, "s"),
    ]


def _seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def readings() -> list[NoteReadings]:
    """Notes of 500 words with 20 spans each, of which every annotator leaves out a tenth."""
    chance = random.Random(7)
    text = "palabra " * TOKENS_OF_A_NOTE
    notes = []
    for number in range(NOTES):
        starts = [8 * chance.randrange(TOKENS_OF_A_NOTE - 1) for _ in range(20)]
        spans = [Span(start, start + 15, chance.choice(LABELS)) for start in starts]
        kept = {name: [span for span in spans if chance.random() < 0.9] for name in READERS}
        notes.append(NoteReadings(text, kept, number))
    return notes
