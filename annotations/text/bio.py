"""BIO tags: one label per token, with a list of the spans that tags can't represent completely.

Other schemes are translated from and to BIO tags (IOB2). IOB1: Ramshaw and Marcus 1995,
https://aclanthology.org/W95-0107/; IOB1 and IOB2 compared: Tjong Kim Sang and Veenstra 1999,
https://aclanthology.org/E99-1023/; BILOU, which is BIOES with other letters: Ratinov and Roth 2009,
https://aclanthology.org/W09-1119/.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from annotations.text.spans import Bounds, Span, Token, Tokenizer, check_bounds, covered, split_at, tokenize
from annotations.text.wording import gettext as _

OUTSIDE: Final = "O"
NOBODY: Final = -1


_MARKS: Final = frozenset("BIESLU")
_STARTS: Final = frozenset("BSU")
_ENDS: Final = frozenset("ESLU")
_MARK_IN_BIOES: Final = {(True, True): "S", (True, False): "B", (False, True): "E", (False, False): "I"}  # first, last


class Scheme(StrEnum):
    """How tags mark the first and the last token of a span.

    IOB2: `B-` marks the first token. IOB1: `B-` marks it only directly after another span with the same label, else
    `I-`. BIOES: `E-` also marks the last token, and `S-` the only one.
    """

    IOB2 = "IOB2"
    IOB1 = "IOB1"
    BIOES = "BIOES"


class Cause(StrEnum):
    """Why tags don't hold a span whole. COVERED: another span has all its tokens; PARTLY_COVERED: some of them."""

    NO_TOKEN = "no token"  # noqa: S105 - a unit of text
    DUPLICATE = "duplicate"
    COVERED = "covered"
    PARTLY_COVERED = "partly covered"
    WHITE_SPACE = "white space"


@dataclass(frozen=True, slots=True)
class Loser:
    """A span that the tags represent only in part or not at all.

    `winner` is the span that has its tokens instead, or None where no other span is the cause.
    """

    span: Span
    winner: Span | None
    cause: Cause


@dataclass(slots=True)
class BioEncoding:
    """The tokens of a text, their tags (`O`, `B-LABEL` or `I-LABEL`), and the spans that the tags don't hold whole."""

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
) -> BioEncoding:
    """Tag the tokens of a text, after splitting them at the start and end of every span.

    Where spans overlap, a token gets the label of the longest span, then of the earliest, then of the first in label
    order. Every span that loses tokens is listed in `losers`. A winner is at least as long as the loser, so the rest of
    a loser is one unbroken piece; the piece is tagged as a span of its own and decodes as a shorter span with the same
    label. Spans that don't overlap and don't begin or end with white space come back from `decode` exactly.

    Raises SpanError if a span is empty or leaves the text.
    """
    given = list(spans)
    for span in given:
        check_bounds(span, len(text))
    tokens = split_at(tokenizer(text), (edge for span in given for edge in (span.start, span.end)))
    return encode_tokens(tokens, given, label_order=label_order)


def encode_tokens(tokens: list[Token], spans: Iterable[Span], *, label_order: Sequence[str] = ()) -> BioEncoding:
    """Do what `encode` does, for tokens that are already split at the start and end of every span."""
    order = sorted(spans, key=Precedence(label_order))
    owner = [NOBODY] * len(tokens)  # for each token, the index in `order` of the span that has it
    free = list(range(len(tokens) + 1))  # union-find: the next token from here on that no span has
    ranges = []
    for index, span in enumerate(order):
        first, past = covered(tokens, span.start, span.end)
        ranges.append((first, past))
        at = _find(free, first)
        while at < past:
            owner[at] = index
            free[at] = at + 1
            at = _find(free, at + 1)
    losers = [loser for index, inside in enumerate(ranges) if (loser := _loser(tokens, order, owner, index, *inside))]
    return BioEncoding(tokens, _tags(order, owner, ranges), sorted(losers, key=lambda loser: loser.span))


def _find(free: list[int], at: int) -> int:
    root = at
    while free[root] != root:
        root = free[root]
    while free[at] != root:
        free[at], at = root, free[at]
    return root


def _tags(order: Sequence[Span], owner: Sequence[int], ranges: Iterable[Bounds]) -> list[str]:
    """The tag of each token; `ranges` are those of the tokens of the spans, outside of which no token has a span."""
    tags = [OUTSIDE] * len(owner)
    for first, past in ranges:
        before = owner[first - 1] if first else NOBODY
        for at in range(first, past):
            index = owner[at]
            tags[at] = ("I-" if index == before else "B-") + order[index].label
            before = index
    return tags


def _loser(
    tokens: Sequence[Token], order: Sequence[Span], owner: Sequence[int], index: int, first: int, past: int
) -> Loser | None:
    """The loss of the span at an index, whose tokens are `first` to `past`; None if the tags hold it whole."""
    span = order[index]
    if first >= past:
        return Loser(span, None, Cause.NO_TOKEN)
    ends = [at for at in (first, past - 1) if owner[at] != index]
    if ends:
        winner = order[owner[ends[0]]]
        if winner == span:
            return Loser(span, winner, Cause.DUPLICATE)
        whole = len(ends) == 2 and index not in owner[first:past]
        return Loser(span, winner, Cause.COVERED if whole else Cause.PARTLY_COVERED)
    if (tokens[first].start, tokens[past - 1].end) != (span.start, span.end):
        return Loser(span, None, Cause.WHITE_SPACE)
    return None


def decode(tokens: Sequence[Token], tags: Sequence[str]) -> list[Span]:
    """The spans that the tags describe, in order. `B-` always starts a span, so that adjacent spans stay separate.

    An `I-` that follows `O` or another label starts a span, too (as in conlleval). Raises ValueError for a tag that
    isn't `O`, `B-LABEL` or `I-LABEL`, or if there isn't exactly one tag for each token.
    """
    if len(tokens) != len(tags):
        raise ValueError(
            _("There are {tokens} tokens and {tags} tags; each token needs exactly one tag.", len(tokens), len(tags))
        )
    spans: list[Span] = []
    label, start, end = "", 0, 0
    for token, tag in zip(tokens, tags, strict=True):
        if tag == OUTSIDE and not label:
            continue
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
    """Split `B-NAME` into `("B", "NAME")` and `O` into `("O", "")`. Raises ValueError for anything else."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if tag[:2] in ("B-", "I-") and len(tag) > 2:
        return tag[0], tag[2:]
    raise ValueError(_("“{tag}” is not a tag. Tags are O, B-LABEL and I-LABEL.", tag[:40]))


def split_any_tag(tag: str) -> tuple[str, str]:
    """Do what `split_tag` does, for the tags of all schemes: also `E-`, `S-`, and `L-` and `U-` of BILOU."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if tag[:1] in _MARKS and tag[1:2] == "-" and len(tag) > 2:
        return tag[0], tag[2:]
    raise ValueError(_("The tag is not valid. Tags are O, or a label after B-, I-, E-, S-, L- or U-."))


def as_bio(tags: Iterable[str]) -> list[str]:
    """The tags of one sentence, in any scheme, as BIO tags.

    Tags that break their scheme are read as seqeval reads them without its strict mode: a span starts where the label
    changes and after the end of a span, and it ends at the latest where the next one starts. Raises ValueError for a
    tag that `split_any_tag` refuses.
    """
    found, before = list(tags), ""
    for at, tag in enumerate(found):
        if tag == OUTSIDE:
            before = ""
            continue
        mark, label = split_any_tag(tag)
        found[at] = ("B-" if mark in _STARTS or label != before else "I-") + label
        before = "" if mark in _ENDS else label
    return found


def in_scheme(tags: list[str], scheme: Scheme) -> list[str]:
    """The BIO tags of one sentence in another scheme. `as_bio` gives them back."""
    if scheme is Scheme.IOB2:
        return list(tags)
    found, before = list(tags), ""
    for at, tag in enumerate(tags):
        if tag == OUTSIDE:
            before = ""
            continue
        mark, label = split_tag(tag)
        if scheme is Scheme.IOB1:
            found[at] = ("B-" if mark == "B" and label == before else "I-") + label
        else:
            ends = tags[at + 1 : at + 2] != [f"I-{label}"]
            found[at] = f"{_MARK_IN_BIOES[mark == 'B', ends]}-{label}"
        before = label
    return found


# Tag names of third-party models: BIO, IO, BIOES and BILOU, with `-` or `_` between prefix and label.


_TAG: Final = re.compile(r"(?:([BILUESM])[-_])?(.+)", re.DOTALL)
# Without a tag with one of these, letters such as the `E-` of `E-MAIL` are part of the label.
_USUAL: Final = frozenset("BI")
# The names of the schemes, by a prefix that only these have.
_OWN: Final = {"S": "BIOES", "E": "BIOES", "U": "BILOU", "L": "BILOU", "B": "BIO"}


def marks_and_labels(names: Sequence[str]) -> list[tuple[str, str]]:
    """Split `B-PER` into ("B", "PER"), `PER` into ("", "PER"), and `O` into ("", ""), for all tags of a model.

    Prefixes are read as such only if a tag begins with `B-` or `I-`. Raises ValueError for an empty name.
    """
    read = [_mark_and_label(name) for name in names]
    if any(mark in _USUAL for mark, _ in read):
        return read
    return [("", "" if name == OUTSIDE else name) for name in names]


def _mark_and_label(name: str) -> tuple[str, str]:
    if name == OUTSIDE:
        return "", ""
    found = _TAG.fullmatch(name)
    if found is None:
        raise ValueError(_("A tag of the model has an empty name."))
    return found[1] or "", found[2]


def without_special(names: Iterable[str]) -> list[str]:
    """The tags with O for those that no span has, such as `<START>` and `<unk>` of Flair."""
    return [OUTSIDE if name.startswith("<") and name.endswith(">") else name for name in names]


def labels_in(names: Iterable[str]) -> tuple[str, ...]:
    """The labels in these tag names, sorted. Raises ValueError for an empty name."""
    return tuple(sorted({label for _, label in marks_and_labels(list(names)) if label}))


def scheme_of(names: Sequence[str]) -> str:
    """The scheme of a model's tags: BIOES, BILOU, BIO, or IO if no tag marks the start of a span."""
    marks = {mark for mark, _ in marks_and_labels(names)}
    return next((scheme for mark, scheme in _OWN.items() if mark in marks), "IO")
