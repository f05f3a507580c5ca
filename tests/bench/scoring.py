"""The whole score table on 1,000,000 tokens: from spans of two sides to every figure of the page, in memory."""

import time

from annotations.domain.scoring import Scorer
from tests.bench.agreeing import LABELS, readings
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import Bench

PART = "scoring"
CATEGORIES = 7


def measure(bench: Bench) -> list[Figure]:
    return figures(bench.rounds)


def figures(rounds: int) -> list[Figure]:
    notes = readings()
    category_of = {label: f"CATEGORY{at % CATEGORIES}" for at, label in enumerate(LABELS)}
    taken, tokens = [], 0
    for _ in range(rounds):
        begun = time.perf_counter()
        scorer = Scorer(LABELS, category_of)
        for note in notes:
            scorer.add(note.text, note.readings["anna"], note.readings["bruno"])
        table = scorer.table()
        table.as_dict()
        taken.append(time.perf_counter() - begun)
        tokens = table.tokens
    assert tokens >= 1_000_000
    return [over_rounds(PART, f"scores, {tokens:,} tokens, every figure", taken, "s", aim=1.0)]
