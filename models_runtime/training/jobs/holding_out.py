"""Score a model on its hold-out."""

from collections.abc import Callable, Iterable, Sequence

from annotations.jobs.registry import load
from annotations.scores.rules import Rates, Scorer
from annotations.scores.rules.operating import OperatingCurve
from annotations.scores.rules.rates import covered_characters
from annotations.scores.selectors import LabelWords
from annotations.text.spans import Span
from models_runtime.backends.base import Backend, BackendError
from models_runtime.backends.marginals import ABOVE, GivesMarginals, is_added, spans_above
from models_runtime.core.registry import BACKENDS
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

    Each label also has its fully masked notes. For a backend that gives probabilities, also recall, precision and
    leak-free notes at each masking threshold.
    `tick` is called after each note. `on_note` also gets the spans that only a threshold adds; is_added tells them.
    """
    scorer = Scorer(words.order, words.category_of)
    characters, count, curve = Rates(0, 0, 0, 0), 0, OperatingCurve()
    for text, gold in notes:
        found, added = _read(backend, text, gold, curve, words)
        scorer.add(text, gold, found)
        characters += covered_characters(gold, found)
        on_note(count, [*found, *added], gold)
        count += 1
        tick()
    if not count:
        return None
    table = scorer.table()
    levels: dict[str, list[HeldOutLevel]] = {"entity": [], "token": []}
    for level in table["levels"]:
        levels[level["unit"]].append({"granularity": level["granularity"], "micro": level["micro"]})
    scores: HeldOutScores = {
        "notes": count,
        "few_notes": table["few_notes"],
        "levels": levels["entity"],
        "tokens": levels["token"],
        "labels": [
            {"label": row["label"], "category": row["category"], **row["entity"], "fully_masked": row["fully_masked"]}
            for row in table["labels"]
        ],
        "characters": characters.as_dict(),
    }
    if isinstance(backend, GivesMarginals):
        scores["thresholds"] = curve.points()
    return scores


def rules_f1(
    label_set: str,
    notes: Iterable[tuple[str, Sequence[Span]]],
    words: LabelWords,
    *,
    tick: Callable[[], None] = lambda: None,
) -> float | None:
    """F1 of exact spans by label of the built-in rules on held-out notes; None for a label set that they don't know."""
    try:
        rules: Backend = load(BACKENDS["rules"].factory)(label_set=label_set)
    except BackendError:
        return None
    scores = hold_out_scores(rules, notes, words, tick=tick)
    return scores["levels"][0]["micro"]["f1"] if scores else None


def _read(
    backend: Backend, text: str, gold: Sequence[Span], curve: OperatingCurve, words: LabelWords
) -> tuple[list[Span], list[Span]]:
    """Return the spans of a note, and the distinct ones that thresholds add; count the note in the curve."""

    def known(spans: Sequence[Span]) -> list[Span]:
        return [span for span in spans if span.label in words.category_of]

    if not isinstance(backend, GivesMarginals):
        return known(backend.predict([text])[0]), []
    marked = backend.predict_marginals([text])[0]
    found = known(marked[0])
    at_each = [
        found if threshold is None else known(spans_above(text, marked, threshold, ABOVE))
        for threshold in curve.thresholds
    ]
    curve.add(gold, at_each)
    return found, sorted({span for spans in at_each for span in spans if is_added(span.source)})
