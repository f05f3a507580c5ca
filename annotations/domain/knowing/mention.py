"""A mention of a known identifier in a note."""

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from annotations.domain.redaction.kinds import Kind


class How(StrEnum):
    """How a mention is written, compared with the master."""

    EXACT = "exact"  # as in the master
    FORM = "form"  # other case, accents, separators, prefix, abbreviation or format
    ORDER = "order"  # the parts of a name in another order, or some of several
    INITIALS = "initials"
    PART = "part"  # a given name or a surname alone
    TYPO = "typo"  # one letter is wrong
    DENIED = "denied"  # a term of the deny list


CONFIDENCE: Final = {
    How.EXACT: 1.0,
    How.FORM: 1.0,
    How.ORDER: 1.0,
    How.DENIED: 1.0,
    How.PART: 0.95,
    How.INITIALS: 0.9,
    How.TYPO: 0.8,
}


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """`text[start:end]` is a known identifier, in code points, end-exclusive. `label` is that of a denied term."""

    start: int
    end: int
    kind: Kind
    how: How
    label: str = ""


def apart(mentions: list[Mention]) -> list[Mention]:
    """The mentions without those that overlap a longer one, in order of the text."""
    kept: list[Mention] = []
    for mention in sorted(set(mentions), key=lambda each: (each.start - each.end, each.start, each.kind)):
        at = bisect_left(kept, mention.start, key=lambda each: each.start)
        free_before = at == 0 or kept[at - 1].end <= mention.start
        if free_before and (at == len(kept) or mention.end <= kept[at].start):
            kept.insert(at, mention)
    return kept
