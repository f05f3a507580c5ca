"""How well a model does on notes that it has not learned from."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from annotations.domain.scoring import Rates, Scorer
from annotations.domain.scoring.covering import covered_characters
from annotations.domain.spans import Span
from annotations.scores.selectors import LabelWords
from models_runtime.backends.base import Backend

Heard = Callable[[int, Sequence[Span], Sequence[Span]], None]
"""Told of every note: its place among them, the spans found, the gold spans."""


def hold_out_scores(
    backend: Backend,
    notes: Iterable[tuple[str, Sequence[Span]]],
    words: LabelWords,
    *,
    told: Callable[[], None] = lambda: None,
    heard: Heard = lambda at, found, gold: None,
) -> dict[str, Any] | None:
    """Exact spans by label, category and place alone, each label's figures, and characters; None without notes."""
    scorer = Scorer(words.order, words.category_of)
    characters, count = Rates(0, 0, 0, 0), 0
    for text, gold in notes:
        found = [span for span in backend.predict([text])[0] if span.label in words.category_of]
        scorer.add(text, gold, found)
        characters += covered_characters(gold, found)
        heard(count, found, gold)
        count += 1
        told()
    if not count:
        return None
    table = scorer.table()
    return {
        "notes": count,
        "levels": [
            {"granularity": level["granularity"], "micro": level["micro"]}
            for level in (level.as_dict() for level in table.levels)
            if level["unit"] == "entity"
        ],
        "labels": [{"label": row.label, "category": row.category} | row.entity.as_dict() for row in table.labels],
        "characters": characters.as_dict(),
    }
