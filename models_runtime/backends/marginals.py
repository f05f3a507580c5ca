"""Probabilities of labels at each token, and spans at an operating point: a threshold on the probability of any label.

A model's best path marks a token only where that is likelier than all else. To mask with a higher recall, tokens whose
probability of being no `O` is above a threshold are suggested as well.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from annotations.text.bio import decode, split_tag
from annotations.text.spans import Bounds, Span, Token, covered, trim
from models_runtime.backends.base import Backend, Budget, Device, OneByOne, budget_of

if TYPE_CHECKING:
    # Web processes and workers load this module; NumPy is loaded by the functions that compute.
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The decimal places of a confidence.
DECIMALS: Final = 4
# The end of the source of a span that is above a threshold and not on the best path.
ABOVE: Final = " above "
# Between a revision and a threshold.
REVISION: Final = "-above-"


@dataclass(frozen=True, slots=True)
class Marginals:
    """The tokens of a text, and for each token the probability of each of `labels` [tokens, labels].

    The sum over the labels is the probability that the token is not `O`.
    """

    tokens: Sequence[Token]
    labels: tuple[str, ...]
    shares: "Floats"

    @classmethod
    def of_tags(cls, tokens: Sequence[Token], names: Sequence[str], rows: Any) -> "Marginals":
        """From the probabilities of BIO tags [tokens, tags] with these names: `B-` and `I-` of a label are added up."""
        import numpy as np

        parts = [split_tag(name)[1] for name in names]
        labels = tuple(sorted({label for label in parts if label}))
        given = np.asarray(rows, dtype=np.float64).reshape(len(tokens), len(names))
        shares = np.zeros((len(tokens), len(labels)))
        for column, label in enumerate(parts):
            if label:
                shares[:, labels.index(label)] += given[:, column]
        return cls(tokens, labels, np.clip(shares, 0.0, 1.0))

    @property
    def marked(self) -> "Floats":
        """The probability that each token is not `O`, at most 1 also where rounding makes the sum greater."""
        found: Floats = self.shares.sum(axis=1).clip(max=1.0)
        return found


Marked = tuple[list[Span], Marginals]
"""The spans of the best path of a text, and the probabilities at its tokens."""


def confident_spans(
    text: str,
    tokens: Sequence[Token],
    tags: Sequence[str],
    odds: Sequence[float],
    source: str,
    decimals: int = DECIMALS,
) -> Iterator[Span]:
    """The spans of the BIO tags of some tokens, trimmed. `odds`: the probability of each tag.

    Confidence: the lowest probability at a span's tokens; None if an uploaded model's weights are too large for one.
    """
    for span in decode(tokens, tags):
        least = float(min(odds[slice(*covered(tokens, span.start, span.end))]))
        start, end = trim(text, span.start, span.end)
        if start < end:
            confidence = None if isnan(least) else round(min(max(least, 0.0), 1.0), decimals)
            yield Span(start, end, span.label, confidence, source)


@runtime_checkable
class GivesMarginals(Protocol):
    """A backend that knows the probability of each label at each token."""

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text as by `predict`, and the probabilities at its tokens."""


def spans_above(text: str, marked: Marked, threshold: float, source: str) -> list[Span]:
    """The spans of the best path, unchanged, with spans of the other tokens whose probability of any label is above
    the `threshold`.

    Each such token has its most probable label, of equal ones the first by name. Neighbors with the same label are one
    span, except over a line break. Beside a span of the best path, they are a span of their own, which touches it.
    Confidence: the lowest probability of the label at the span's tokens. `source`: that of the added spans.
    """
    import numpy as np

    spans, marginals = marked
    tokens = marginals.tokens
    if not tokens:
        return spans
    above = marginals.marked > threshold
    for span in spans:
        first, past = covered(tokens, span.start, span.end)
        above[first:past] = False
    best = marginals.shares.argmax(axis=1)
    added = []
    for first, past in _runs(text, tokens, np.flatnonzero(above).tolist(), best.tolist()):
        start, end = trim(text, tokens[first].start, tokens[past - 1].end)
        if start < end:
            least = float(marginals.shares[first:past, best[first]].min())
            added.append(Span(start, end, marginals.labels[best[first]], round(least, DECIMALS), source))
    return sorted([*spans, *added])


def _runs(text: str, tokens: Sequence[Token], above: Sequence[int], best: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the past-the-last token of each run of neighbors with one label."""
    first = 0
    for at, number in enumerate(above):
        nxt = above[at + 1] if at + 1 < len(above) else -1
        between = text[tokens[number].end : tokens[nxt].start] if nxt == number + 1 else "\n"
        if "\n" in between or "\r" in between or best[nxt] != best[number]:
            yield above[first], number + 1
            first = at + 1


def mean_marginals(
    members: Sequence[Marginals], weights: Sequence[float], codes: Mapping[str, str], tokens: Sequence[Token]
) -> Marginals:
    """The weighted mean of the members' probabilities at these tokens. `codes` renames labels that were merged.

    A token that a member doesn't have, such as a character that its tokenizer drops, is `O` for that member.
    """
    import numpy as np

    labels = tuple(sorted({codes.get(label, label) for each in members for label in each.labels}))
    shares = np.zeros((len(tokens), len(labels)))
    row_of = {token: row for row, token in enumerate(tokens)}
    whole = sum(weights)
    for each, weight in zip(members, weights, strict=True):
        own = [(row, row_of[token]) for row, token in enumerate(each.tokens) if token in row_of]
        theirs, ours = [row for row, _ in own], [row for _, row in own]
        for column, label in enumerate(each.labels):
            shares[ours, labels.index(codes.get(label, label))] += weight / whole * each.shares[theirs, column]
    return Marginals(tokens, labels, shares)


class ThresholdBackend(OneByOne):
    """Reads with `backend` at a threshold (above 0, below 1): see `spans_above`."""

    def __init__(self, backend: Backend, threshold: float) -> None:
        """Raises TypeError for a backend that gives no probabilities."""
        if not isinstance(backend, GivesMarginals):
            raise TypeError(f"The backend {backend.name} gives no probabilities of labels.")
        self._backend, self._marginals, self.threshold = backend, backend, threshold
        self.name, self.label_set, self.labels = backend.name, backend.label_set, backend.labels
        self.revision = f"{backend.revision}{REVISION}{threshold:g}"

    @property
    def budget(self) -> Budget:
        return budget_of(self._backend)

    @property
    def device(self) -> Device:
        """The device of the backend. Raises AttributeError for a backend without one."""
        found: Device = getattr(self._backend, "device")  # noqa: B009 - not part of the Protocol
        return found

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text at the threshold."""
        source = f"{self.name}{ABOVE}{self.threshold:g}"
        read = self._marginals.predict_marginals(texts)
        return [spans_above(text, marked, self.threshold, source) for text, marked in zip(texts, read, strict=True)]


def revision_without(revision: str) -> str:
    """The revision of a backend without its threshold, if it has one."""
    return revision.partition(REVISION)[0]


def is_added(source: str) -> bool:
    """Whether a span with this source is above a threshold and not on the best path."""
    return ABOVE in source


# Self-training: labels that a model or several runs gave to notes without gold, and where these labels are sure.
#
# A line of such a note is learned from only if every label in it, and every stretch without a label, is sure. The
# method is self-training (Yarowsky 1995) with labels of one model, and co-training (Blum and Mitchell 1998) with labels
# on which several models agree.


# The probability from which a label, or a token without one, is sure.
SURE: Final = 0.95
# The weight of a token of these notes in the loss; a token of a gold note has the weight 1.
WEIGHT: Final = 0.5


@dataclass(frozen=True)
class SelfLabeled:
    """A note without gold: its text, the labels that it was given, and the stretches of whole lines to learn from."""

    text: str
    spans: Sequence[Span]
    sure: Sequence[Bounds]


def self_labeled(text: str, sure: Sequence[Span], unsure: Sequence[Span]) -> SelfLabeled | None:
    """The note with its sure spans and the lines that no unsure span touches; None if there is no such line.

    A sure span that touches a left-out line is left out with all its lines, so that no part of a span is learned from.
    """
    lines = _lines(text)
    starts = [start for start, _ in lines]
    # The lines that each span touches. A span is gone through once for each of its lines.
    touched: dict[int, list[int]] = {}
    for number, span in enumerate(sure):
        for at in _lines_of(span, starts):
            touched.setdefault(at, []).append(number)
    out: set[int] = set()
    left_out: set[int] = set()
    pending = list(unsure)
    while pending:
        new = {at for span in pending for at in _lines_of(span, starts)} - out
        out |= new
        reached = {number for at in new for number in touched.get(at, ())} - left_out
        left_out |= reached
        pending = [sure[number] for number in sorted(reached)]
    kept = [span for number, span in enumerate(sure) if number not in left_out]
    found: list[Bounds] = []
    for at, (start, end) in enumerate(lines):
        if at in out:
            continue
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return SelfLabeled(text, kept, found) if any(text[start:end].strip() for start, end in found) else None


def labeled_by(backend: GivesMarginals, text: str) -> SelfLabeled | None:
    """The note as the backend labels it: sure where its probability of each token's label, or of none, is SURE."""
    (marked,) = backend.predict_marginals([text])
    found = spans_above(text, marked, 1 - SURE, ABOVE)
    unsure = [span for span in found if not is_sure(span)]
    return self_labeled(text, [span for span in found if is_sure(span)], unsure)


def is_sure(span: Span) -> bool:
    """Whether the span is on the best path and sure."""
    return not is_added(span.source) and (span.confidence is None or span.confidence >= SURE)


def _lines_of(span: Span, starts: Sequence[int]) -> range:
    """The indexes of the lines that a span touches. `starts`: where the lines start."""
    return range(bisect_right(starts, span.start) - 1, bisect_left(starts, span.end))


def _lines(text: str) -> list[Bounds]:
    """The bounds of the lines with their line breaks; together they are the whole text."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append((at, at + len(line)))
        at += len(line)
    return found
