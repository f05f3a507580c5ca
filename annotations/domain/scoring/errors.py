"""What went wrong at a place: missed, spurious, another label, other bounds, or both."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from annotations.domain.matching import match
from annotations.domain.scoring.knots import Knot, Place
from annotations.domain.spans import Span


class Kind(StrEnum):
    """How a gold span and the prediction paired with it differ; `missed` and `spurious` have no partner."""

    MISSED = "missed"
    SPURIOUS = "spurious"
    LABEL = "label"
    BOUNDARY = "boundary"
    BOTH = "both"


class Error(NamedTuple):
    """One place that isn't right. `gold` is None where the prediction is spurious, `predicted` where gold is missed."""

    kind: Kind
    gold: Place | None
    predicted: Place | None

    @property
    def start(self) -> int:
        return min(place[0] for place in (self.gold, self.predicted) if place)

    @property
    def end(self) -> int:
        return max(place[1] for place in (self.gold, self.predicted) if place)

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(place[2] for place in (self.gold, self.predicted) if place)


def pairs_of(knot: Knot) -> tuple[list[tuple[Place, Place]], list[Place], list[Place]]:
    """Gold and prediction paired one to one, as `domain.matching` does; gold left alone, predictions left alone."""
    same = set(knot.gold).intersection(knot.predicted)
    gold = [place for place in knot.gold if place not in same]
    predicted = [place for place in knot.predicted if place not in same]
    pairs = [(place, place) for place in sorted(same)]
    if gold and predicted:
        found = match([Span(*place) for place in predicted], [Span(*place) for place in gold])
        pairs += [(gold[g], predicted[p]) for p, g in found]
        left_p, left_g = {p for p, _ in found}, {g for _, g in found}
        gold = [place for at, place in enumerate(gold) if at not in left_g]
        predicted = [place for at, place in enumerate(predicted) if at not in left_p]
    return pairs, gold, predicted


def errors_of(pairs: Sequence[tuple[Place, Place]], missed: Sequence[Place], spurious: Sequence[Place]) -> list[Error]:
    """The places of a knot that aren't right, in reading order."""
    found = [Error(_kind(g, p), g, p) for g, p in pairs if g != p]
    found += [Error(Kind.MISSED, g, None) for g in missed]
    found += [Error(Kind.SPURIOUS, None, p) for p in spurious]
    return sorted(found, key=lambda error: (error.start, error.end))


def _kind(gold: Place, predicted: Place) -> Kind:
    if gold[:2] == predicted[:2]:
        return Kind.LABEL
    return Kind.BOUNDARY if gold[2] == predicted[2] else Kind.BOTH
