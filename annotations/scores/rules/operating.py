"""Masking and reviewing at several thresholds, on held-out notes: recall, precision, leaks and decisions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from typing_extensions import TypedDict

from annotations.scores.rules.errors import LabeledBounds
from annotations.scores.rules.rates import NOTHING, RatesData, covered_characters
from annotations.scores.rules.scorer import Scorer
from annotations.scores.rules.table import TableData
from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import Span

# The thresholds of a curve. The lowest mask most.
THRESHOLDS: Final = (
    0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
)  # fmt: skip
DIGITS: Final = 6


class OperatingPoint(TypedDict):
    """Figures at a threshold; None as the threshold: without one.

    `recall` and `precision` are of characters, whatever the labels; `leak_free` is the share of notes of which every
    gold character is masked. Each is None where it is undefined.
    """

    threshold: float | None
    recall: float | None
    precision: float | None
    leak_free: float | None


class OperatingCurve:
    """Counts notes at each of the thresholds, which are THRESHOLDS by default."""

    def __init__(self, thresholds: Sequence[float] = THRESHOLDS) -> None:
        self.thresholds: list[float | None] = [None, *sorted(thresholds, reverse=True)]
        self._characters = [NOTHING for _ in self.thresholds]
        self._leak_free = [0 for _ in self.thresholds]
        self._notes = 0

    def add(self, gold: Sequence[Span], found: Iterable[Sequence[Span]]) -> None:
        """Count a note: the spans found at each of `self.thresholds`, in their order."""
        self._notes += 1
        for at, spans in zip(range(len(self.thresholds)), found, strict=True):
            masked = covered_characters(gold, spans)
            self._characters[at] += masked
            self._leak_free[at] += masked.found == masked.gold

    def points(self) -> list[OperatingPoint]:
        """The figures without a threshold, then at each threshold, the lowest last."""
        rows = zip(self.thresholds, self._characters, self._leak_free, strict=True)
        return [
            OperatingPoint(
                threshold=threshold,
                recall=_rounded(masked.recall),
                precision=_rounded(masked.precision),
                leak_free=_share(leak_free, self._notes),
            )
            for threshold, masked, leak_free in rows
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def for_recall(points: Iterable[OperatingPoint], wanted: float) -> OperatingPoint | None:
    """The point with the highest threshold whose recall is at least `wanted`; None if there is none."""
    fit = [each for each in points if each["threshold"] and (each["recall"] or 0.0) >= wanted]
    return max(fit, key=lambda each: each["threshold"] or 0.0, default=None)


def for_precision(points: Iterable[OperatingPoint], wanted: float) -> OperatingPoint | None:
    """The point with the lowest threshold from which on upwards the precision is at least `wanted`, or None."""
    found = None
    for each in sorted((each for each in points if each["threshold"]), key=lambda each: -(each["threshold"] or 0.0)):
        if (each["precision"] or 0.0) < wanted:
            break
        found = each
    return found


def nearest(points: Iterable[OperatingPoint], threshold: float) -> OperatingPoint | None:
    """The point whose threshold is nearest to this one; of two, the lower."""
    known = sorted((each for each in points if each["threshold"]), key=lambda each: each["threshold"] or 0.0)
    return min(known, key=lambda each: abs((each["threshold"] or 0.0) - threshold), default=None)


# Reviewing at a threshold: only suggestions with at least this confidence are shown and decided.

# Confidences are counted in steps of a hundredth, downwards.
STEPS: Final = 100


class ReviewCurve(TypedDict):
    """Counts at the thresholds 0.00, 0.01 … 1.00, on `notes` notes with `gold` spans.

    `suggestions` are those with at least this confidence; one without a confidence counts at each threshold. `right`
    are those that overlap a gold span, and `masked` the gold spans of which they cover every character, white space
    aside; both whatever the labels. `graded`: whether any suggestion has a confidence.
    """

    notes: int
    gold: int
    graded: bool
    suggestions: list[int]
    right: list[int]
    masked: list[int]


class ReviewPoint(TypedDict):
    """Figures of a review at a threshold. `recall` is the share of gold spans that are fully masked.

    `decisions` and `leaks` are per 100 notes: the suggestions that a reviewer decides, and the gold spans of which some
    character stays readable unless the reviewer notices it. Each figure is None where it is undefined.
    """

    threshold: float
    precision: float | None
    recall: float | None
    decisions: float | None
    leaks: float | None


class ReviewCounts:
    """Counts notes for a ReviewCurve."""

    def __init__(self) -> None:
        self._notes = self._gold = 0
        self._graded = False
        self._suggestions: Counter[int] = Counter()
        self._right: Counter[int] = Counter()
        self._masked: Counter[int] = Counter()

    def add(self, text: str, gold: Iterable[Span], found: Iterable[Span]) -> None:
        """Count a note. Gold spans of equal bounds are one identifier."""
        self._notes += 1
        wanted = {(span.start, span.end) for span in gold}
        marked = {at for bounds in wanted for at in range(*bounds)}
        highest: dict[int, int] = {}
        for level, span in sorted((_level(span.confidence), span) for span in found):
            self._graded |= span.confidence is not None
            self._suggestions[level] += 1
            covers = range(span.start, span.end)
            self._right[level] += not marked.isdisjoint(covers)
            highest.update(dict.fromkeys(covers, level))
        self._gold += len(wanted)
        for bounds in wanted:
            covered = [highest.get(at, -1) for at in range(*bounds) if text[at] not in WHITE_SPACE]
            self._masked[min(covered, default=STEPS)] += 1

    def curve(self) -> ReviewCurve:
        """The counts at each threshold, the lowest first."""
        return {
            "notes": self._notes,
            "gold": self._gold,
            "graded": self._graded,
            "suggestions": _from_above(self._suggestions),
            "right": _from_above(self._right),
            "masked": _from_above(self._masked),
        }


def _level(confidence: float | None) -> int:
    return STEPS if confidence is None else int(confidence * STEPS + 1e-9)


def _from_above(counts: Counter[int]) -> list[int]:
    """For each level, how many have at least it."""
    return list(accumulate(counts[level] for level in range(STEPS, -1, -1)))[::-1]


def review_points(curve: ReviewCurve, every: int = 1) -> list[ReviewPoint]:
    """The figures at each `every`-th threshold, the lowest first."""
    notes, gold = curve["notes"], curve["gold"]
    return [
        ReviewPoint(
            threshold=at / STEPS,
            precision=_share(curve["right"][at], curve["suggestions"][at]),
            recall=_share(curve["masked"][at], gold),
            decisions=_share(100 * curve["suggestions"][at], notes),
            leaks=_share(100 * (gold - curve["masked"][at]), notes),
        )
        for at in range(0, STEPS + 1, every)
    ]


def _share(part: int, whole: int) -> float | None:
    return _rounded(part / whole if whole else None)


# Comparison of several authors with gold: the figures of each, what all of them missed, and what only one found.


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
