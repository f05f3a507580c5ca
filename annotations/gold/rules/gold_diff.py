"""Differences between two gold versions, note by note."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from annotations.text.matching import match
from annotations.text.spans import Span


class ChangeKind(StrEnum):
    """How a span changed: a moved span has new bounds, a relabeled one a new label, a replaced one both.

    `attributes`: only the span's attributes changed.
    """

    ADDED = "added"
    REMOVED = "removed"
    RELABELED = "relabeled"
    MOVED = "moved"
    REPLACED = "replaced"
    ATTRIBUTES = "attributes"


@dataclass(frozen=True, slots=True)
class Change:
    kind: ChangeKind
    before: Span | None
    after: Span | None

    @property
    def start(self) -> int:
        return min(span.start for span in (self.before, self.after) if span)

    @property
    def end(self) -> int:
        return max(span.end for span in (self.before, self.after) if span)


def diff(before: Iterable[Span], after: Iterable[Span]) -> list[Change]:
    """The changes from one set of spans to another, in text order.

    Spans that differ and overlap are paired one to one by `domain.matching`. A span that moved without overlapping its
    old bounds counts as one removed and one added.
    """
    old, new = ({span: span for span in spans} for spans in (before, after))
    gone, come = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    pairs = match(come, gone)
    found = [Change(_kind(gone[g], come[c]), gone[g], come[c]) for c, g in pairs]
    paired_c, paired_g = {c for c, _ in pairs}, {g for _, g in pairs}
    found += [Change(ChangeKind.REMOVED, span, None) for at, span in enumerate(gone) if at not in paired_g]
    found += [Change(ChangeKind.ADDED, None, span) for at, span in enumerate(come) if at not in paired_c]
    both = ((old[span], new[span]) for span in old.keys() & new.keys())
    found += [Change(ChangeKind.ATTRIBUTES, *pair) for pair in both if pair[0].attributes != pair[1].attributes]
    return sorted(found, key=lambda change: (change.start, change.end, change.kind))


def _kind(before: Span, after: Span) -> ChangeKind:
    if (before.start, before.end) == (after.start, after.end):
        return ChangeKind.RELABELED
    return ChangeKind.MOVED if before.label == after.label else ChangeKind.REPLACED
