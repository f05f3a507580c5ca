"""Comparison of several authors with gold: the figures of each, what all of them missed, and what only one found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypedDict

from annotations.scores.rules.errors import LabeledBounds
from annotations.scores.rules.operating import ReviewCounts, ReviewCurve
from annotations.scores.rules.rates import NOTHING, RatesData, covered_characters
from annotations.scores.rules.scorer import Scorer
from annotations.scores.rules.table import TableData
from annotations.text.spans import Span

UNTOUCHED: Final = "untouched"
MISSED: Final = "missed"
ONLY: Final = "only:"


class TellingSpan(NamedTuple):
    """A gold span that all authors missed, or that only one author found.

    `kind`: UNTOUCHED (no author marked any part of it), MISSED (no author has the exact span), or ONLY with the name of
    the single author who has it. `near` is that author's span, or the span that shares most characters with a missed
    one.
    """

    kind: str
    gold: LabeledBounds
    near: LabeledBounds | None


class AuthorTable(TableData):
    """One author's score table, with the rates of marked characters."""

    characters: RatesData


class AuthorTables(TypedDict):
    """An author's table, how many gold spans only this author found, and the review of held-out notes by threshold."""

    table: AuthorTable
    only: int
    review: ReviewCurve


class MissedSpans(TypedDict):
    """How many gold spans all authors missed, and of how many nobody marked any part."""

    missed_by_all: int
    untouched: int


class SideBySide:
    """Scores several authors: call `add` for each note, then `figures`. Labels are given as for `Scorer`."""

    def __init__(self, authors: Sequence[str], label_order: Sequence[str], category_of: Mapping[str, str]) -> None:
        self._scorers = {author: Scorer(label_order, category_of) for author in authors}
        self._characters = dict.fromkeys(authors, NOTHING)
        self._reviews = {author: ReviewCounts() for author in authors}
        self._counts: Counter[str] = Counter()

    def add(
        self, text: str, gold: Sequence[Span], annotation_sets: Mapping[str, Sequence[Span]], *, held_out: bool = True
    ) -> list[TellingSpan]:
        """Count one note, and return its `TellingSpan` gold spans in text order. Raises what `Scorer.add` raises.

        `held_out`: no author's model learned from the note.
        """
        for author, scorer in self._scorers.items():
            scorer.add(text, gold, annotation_sets[author])
            self._characters[author] += covered_characters(gold, annotation_sets[author])
            if held_out:
                self._reviews[author].add(text, gold, annotation_sets[author])
        found = list(_telling(gold, annotation_sets))
        self._counts.update(one.kind for one in found)
        return found

    def table(self, author: str) -> AuthorTables:
        characters = self._characters[author].as_dict()
        return {
            "table": {**self._scorers[author].table(), "characters": characters},
            "only": self._counts[ONLY + author],
            "review": self._reviews[author].curve(),
        }

    def missed(self) -> MissedSpans:
        untouched = self._counts[UNTOUCHED]
        return {"missed_by_all": untouched + self._counts[MISSED], "untouched": untouched}


def _telling(gold: Sequence[Span], annotation_sets: Mapping[str, Sequence[Span]]) -> list[TellingSpan]:
    said = {author: {(span.start, span.end, span.label) for span in spans} for author, spans in annotation_sets.items()}
    everything = sorted(set().union(*said.values()))
    found = []
    for bounds in sorted({(span.start, span.end, span.label) for span in gold}):
        authors = [author for author, spans in said.items() if bounds in spans]
        if len(authors) == 1 < len(said):
            found.append(TellingSpan(ONLY + authors[0], bounds, bounds))
        elif not authors:
            near = max(everything, key=lambda other: _shared(bounds, other), default=None)
            touched = near is not None and _shared(bounds, near) > 0
            found.append(TellingSpan(MISSED if touched else UNTOUCHED, bounds, near if touched else None))
    return found


def _shared(one: LabeledBounds, other: LabeledBounds) -> int:
    """How many code points both cover; 0 or negative if they don't overlap."""
    return min(one[1], other[1]) - max(one[0], other[0])
