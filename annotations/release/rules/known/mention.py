"""A mention of a known identifier in a note."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType


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
    kind: IdentifierType
    how: How
    label: str = ""


def _longest_first(mention: Mention) -> tuple[int, int, str, str, str]:
    return mention.start - mention.end, mention.start, mention.kind, mention.how, mention.label


def apart(text: str, mentions: list[Mention]) -> list[Mention]:
    """The mentions of a text without overlaps, in order. A longer mention wins; of a shorter one, the rest is kept."""
    kept: list[Mention] = []
    for mention in sorted(set(mentions), key=_longest_first):
        at = bisect_left(kept, mention.start, key=lambda each: each.start)
        start = max(mention.start, kept[at - 1].end) if at else mention.start
        end = min(mention.end, kept[at].start) if at < len(kept) else mention.end
        if (start, end) == (mention.start, mention.end):
            kept.insert(at, mention)
            continue
        while start < end and not text[start].isalnum():
            start += 1
        while start < end and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            kept.insert(at, replace(mention, start=start, end=end))
    return kept
