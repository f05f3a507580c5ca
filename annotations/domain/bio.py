"""BIO tags: one label per token, nothing lost that a tag can hold, and every loss named span by span."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotations.domain.spans import Span, check_bounds
from annotations.domain.tokens import Token, Tokenizer, covered, split_at, tokenize

OUTSIDE: Final = "O"
NOBODY: Final = -1


@dataclass(frozen=True, slots=True)
class Loser:
    """A span that tags hold only in part or not at all.

    `winner` is the span that took its place (None where no span did: no token to stand on, white space at its ends).
    """

    span: Span
    winner: Span | None
    reason: str


@dataclass(slots=True)
class Encoded:
    """The tokens of a text, a tag for each (`O`, `B-LABEL` or `I-LABEL`), and the spans that tags can't hold whole."""

    tokens: list[Token]
    tags: list[str]
    losers: list[Loser] = field(default_factory=list)


class Precedence:
    """Sort key that puts the winner first: the longest span, then the earliest, then the first in label order.

    Labels outside the given order come after it, by name.
    """

    def __init__(self, label_order: Sequence[str] = ()) -> None:
        self._rank = {label: rank for rank, label in reversed(list(enumerate(label_order)))}

    def __call__(self, span: Span) -> tuple[int, int, int, str]:
        rank = self._rank.get(span.label, len(self._rank))
        return span.start - span.end, span.start, rank, span.label


def encode(
    text: str, spans: Iterable[Span], *, label_order: Sequence[str] = (), tokenizer: Tokenizer = tokenize
) -> Encoded:
    """Tag the tokens of a text, which are first split at every end of every span.

    Where spans overlap, a token goes to the longest, then the earliest, then the first in label order. A span that
    loses tokens is in `losers`, whether it lost all of them or some. Whoever wins over a span is at least as long, so
    what is left of a loser is one unbroken piece; it is tagged as a span of its own (B, then I) and decodes as a
    shorter span with the same label. Spans that don't overlap, and whose ends aren't white space, come back from
    `decode` exactly.

    Raises SpanError if a span is empty or leaves the text.
    """
    given = list(spans)
    for span in given:
        check_bounds(span, len(text))
    tokens = split_at(tokenizer(text), (edge for span in given for edge in (span.start, span.end)))
    return encode_tokens(tokens, given, label_order=label_order)


def encode_tokens(tokens: list[Token], spans: Iterable[Span], *, label_order: Sequence[str] = ()) -> Encoded:
    """As `encode`, on tokens that are already split at every end of these spans (and perhaps elsewhere)."""
    order = sorted(spans, key=Precedence(label_order))
    owner = [NOBODY] * len(tokens)  # which span of `order` has the token
    free = list(range(len(tokens) + 1))  # the next token at or after this one that nobody has; union-find
    places = []
    for index, span in enumerate(order):
        first, past = covered(tokens, span.start, span.end)
        places.append((first, past))
        at = _find(free, first)
        while at < past:
            owner[at] = index
            free[at] = at + 1
            at = _find(free, at + 1)
    losers = [
        loser
        for index, span in enumerate(order)
        if (loser := _loser(tokens, order, owner, index, span, places[index])) is not None
    ]
    return Encoded(tokens, _tags(order, owner), sorted(losers, key=lambda loser: loser.span))


def _find(free: list[int], at: int) -> int:
    root = at
    while free[root] != root:
        root = free[root]
    while free[at] != root:
        free[at], at = root, free[at]
    return root


def _tags(order: Sequence[Span], owner: Sequence[int]) -> list[str]:
    tags, before = [], NOBODY
    for index in owner:
        if index == NOBODY:
            tags.append(OUTSIDE)
        else:
            tags.append(("I-" if index == before else "B-") + order[index].label)
        before = index
    return tags


def _loser(
    tokens: Sequence[Token],
    order: Sequence[Span],
    owner: Sequence[int],
    index: int,
    span: Span,
    place: tuple[int, int],
) -> Loser | None:
    """What to say of a span; None if the tags hold it whole."""
    first, past = place
    if first >= past:
        return Loser(span, None, "no token to stand on")
    ends = [at for at in (first, past - 1) if owner[at] != index]
    if ends:
        winner = order[owner[ends[0]]]
        if winner == span:
            return Loser(span, winner, "given twice")
        return Loser(span, winner, "covered" if len(ends) == 2 and index not in owner[first:past] else "partly covered")
    if (tokens[first].start, tokens[past - 1].end) != (span.start, span.end):
        return Loser(span, None, "white space at its ends")
    return None


def decode(tokens: Sequence[Token], tags: Sequence[str]) -> list[Span]:
    """The spans that the tags spell, in order. `B-` always starts one, so spans that touch stay apart.

    An `I-` that follows `O` or another label starts a span as well (as conlleval reads it). Raises ValueError for a tag
    that isn't `O`, `B-LABEL` or `I-LABEL`, or if there isn't exactly one tag for each token.
    """
    if len(tokens) != len(tags):
        raise ValueError(f"{len(tokens)} tokens with {len(tags)} tags")
    spans: list[Span] = []
    label, start, end = "", 0, 0
    for token, tag in zip(tokens, tags, strict=True):
        mark, this = split_tag(tag)
        if mark == "I" and this == label:
            end = token.end
            continue
        if label:
            spans.append(Span(start, end, label))
        label, start, end = this, token.start, token.end
    if label:
        spans.append(Span(start, end, label))
    return spans


def split_tag(tag: str) -> tuple[str, str]:
    """`B-NAME` to `("B", "NAME")` and `O` to `("O", "")`; ValueError for anything else."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if tag[:2] in ("B-", "I-") and len(tag) > 2:
        return tag[0], tag[2:]
    raise ValueError(f"{tag[:40]!r} is no tag; tags are O, B-LABEL and I-LABEL")
