"""Score a model on its hold-out."""

from collections.abc import Callable, Iterable, Sequence

from annotations.domain.scoring import Rates, Scorer
from annotations.domain.scoring.covering import covered_characters
from annotations.domain.spans import Span
from annotations.scores.selectors import LabelWords
from models_runtime.backends.base import Backend
from models_runtime.models.cards import HeldOutLevel, HeldOutScores

OnNote = Callable[[int, Sequence[Span], Sequence[Span]], None]
"""Called for every note with its index, the predicted spans and the gold spans."""


def hold_out_scores(
    backend: Backend,
    notes: Iterable[tuple[str, Sequence[Span]]],
    words: LabelWords,
    *,
    tick: Callable[[], None] = lambda: None,
    on_note: OnNote = lambda index, found, gold: None,
) -> HeldOutScores | None:
    """Score exact spans by label, by category and by bounds only, each label, and characters; None without notes.

    `tick` is called after each note.
    """
    scorer = Scorer(words.order, words.category_of)
    characters, count = Rates(0, 0, 0, 0), 0
    for text, gold in notes:
        found = [span for span in backend.predict([text])[0] if span.label in words.category_of]
        scorer.add(text, gold, found)
        characters += covered_characters(gold, found)
        on_note(count, found, gold)
        count += 1
        tick()
    if not count:
        return None
    table = scorer.table()
    levels: dict[str, list[HeldOutLevel]] = {"entity": [], "token": []}
    for level in (level.as_dict() for level in table.levels):
        levels[level["unit"]].append({"granularity": level["granularity"], "micro": level["micro"]})
    return {
        "notes": count,
        "few_notes": table.few_notes,
        "levels": levels["entity"],
        "tokens": levels["token"],
        "labels": [{"label": row.label, "category": row.category, **row.entity.as_dict()} for row in table.labels],
        "characters": characters.as_dict(),
    }
