"""Masking and reviewing at several thresholds, on held-out notes: recall, precision, leaks and decisions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from typing_extensions import TypedDict

from annotations.scores.rules.rates import NOTHING, Rates, covered_characters
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


class _Count:
    def __init__(self) -> None:
        self.characters: Rates = NOTHING
        self.leak_free = 0


class OperatingCurve:
    """Counts notes at each of the thresholds, which are THRESHOLDS by default."""

    def __init__(self, thresholds: Sequence[float] = THRESHOLDS) -> None:
        self.thresholds: list[float | None] = [None, *sorted(thresholds, reverse=True)]
        self._counts = [_Count() for _ in self.thresholds]
        self._notes = 0

    def add(self, gold: Sequence[Span], found: Iterable[Sequence[Span]]) -> None:
        """Count a note: the spans found at each of `self.thresholds`, in their order."""
        self._notes += 1
        for count, spans in zip(self._counts, found, strict=True):
            masked = covered_characters(gold, spans)
            count.characters += masked
            count.leak_free += masked.found == masked.gold

    def points(self) -> list[OperatingPoint]:
        """The figures without a threshold, then at each threshold, the lowest last."""
        return [
            OperatingPoint(
                threshold=threshold,
                recall=_rounded(count.characters.recall),
                precision=_rounded(count.characters.precision),
                leak_free=_rounded(count.leak_free / self._notes if self._notes else None),
            )
            for threshold, count in zip(self.thresholds, self._counts, strict=True)
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
    """Figures of a review at a threshold. `recall` is the share of gold spans that are masked whole.

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
