"""Recall and precision of marked characters, whatever the labels: what masking by these spans would miss and hide."""

from collections.abc import Iterable

from annotations.scores.rules.rates import Rates
from annotations.text.spans import Span


def covered_characters(gold: Iterable[Span], predicted: Iterable[Span]) -> Rates:
    """Rates over the marked code points of one note; a code point counts once however many spans cover it."""
    ours, theirs = (
        {at for span in spans for at in range(span.start, span.end)} for spans in (list(gold), list(predicted))
    )
    return Rates.paired(len(ours & theirs), len(theirs), len(ours))
