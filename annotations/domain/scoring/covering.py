"""Recall and precision of marked characters, whatever the labels: what masking by these spans would leave and take."""

from collections.abc import Iterable

from annotations.domain.scoring.rates import Rates
from annotations.domain.spans import Span


def covered_characters(gold: Iterable[Span], predicted: Iterable[Span]) -> Rates:
    """The code points of one note that either side marks; one that several spans of a side mark counts once."""
    ours, theirs = (
        {at for span in side for at in range(span.start, span.end)} for side in (list(gold), list(predicted))
    )
    return Rates.paired(len(ours & theirs), len(theirs), len(ours))
