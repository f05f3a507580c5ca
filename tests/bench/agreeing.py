"""Agreement on 1,000,000 tokens read by three annotators: from spans to observed agreement and alpha, in memory."""

import random
import time

from annotations.domain.agreement import NoteReadings, agreement, patterns
from annotations.domain.spans import Span
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import Bench

PART = "agreement"
NOTES = 2000
TOKENS_OF_A_NOTE = 500
READERS = ("anna", "bruno", "carla")
LABELS = [f"LABEL{number}" for number in range(25)]


def measure(bench: Bench) -> list[Figure]:
    notes = readings()
    taken, last = [], None
    for _ in range(bench.rounds):
        begun = time.perf_counter()
        counted = patterns(notes, READERS)
        last = agreement(counted)
        taken.append(time.perf_counter() - begun)
    assert last is not None and last.units >= 1_000_000
    return [over_rounds(PART, f"agreement, {last.units:,} tokens × 3 annotators", taken, "s", aim=1.0)]


def readings() -> list[NoteReadings]:
    """Notes of 500 words with 20 spans each, of which every annotator leaves out a tenth."""
    chance = random.Random(7)
    text = "palabra " * TOKENS_OF_A_NOTE
    notes = []
    for _ in range(NOTES):
        starts = [8 * chance.randrange(TOKENS_OF_A_NOTE - 1) for _ in range(20)]
        spans = [Span(start, start + 15, chance.choice(LABELS)) for start in starts]
        notes.append(NoteReadings(text, {name: [span for span in spans if chance.random() < 0.9] for name in READERS}))
    return notes
