"""Which stretches of a note a release replaces, and by which action. Offsets are code points, end-exclusive."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from annotations.release.rules.redaction.policy import Action, Policy
from annotations.release.rules.redaction.released import Mention
from annotations.text.characters import trim
from annotations.text.spans import Span, stretches

# These actions may write a part of the original.
_PARTIAL: Final = frozenset({Action.GENERALIZE, Action.SHIFT})


class Planned(NamedTuple):
    """A mention and what happens to it."""

    mention: Mention
    action: Action


def planned(text: str, spans: Iterable[Span], policy: Policy) -> list[Planned]:
    """What a release of this note does, in the order of the note; mentions don't overlap.

    Overlapping spans are one mention, with the label of the longest of them (`masking.stretches`). Kept spans never
    win over others: of a kept span, only what no other span covers is kept. Spans of different labels that overlap are
    masked where the longest one's action may write a part of the original. Raises PolicyError for labels without a
    rule.
    """
    rules = policy.rules
    spans = list(spans)
    policy.require({span.label for span in spans})
    replaced = [span for span in spans if rules[span.label].action is not Action.KEEP]
    joined = stretches(replaced)
    mixed = _mixed(joined, replaced) if len(joined) < len(replaced) else frozenset()
    plans = [
        Planned(
            Mention(start, end, label, rules[label].kind, text[start:end]),
            Action.MASK if start in mixed and rules[label].action in _PARTIAL else rules[label].action,
        )
        for start, end, label in joined
    ]
    if len(replaced) == len(spans):
        return plans
    kept = stretches(span for span in spans if rules[span.label].action is Action.KEEP)
    plans += (
        Planned(Mention(start, end, label, rules[label].kind, text[start:end]), Action.KEEP)
        for start, end, label in _uncovered(text, kept, joined)
    )
    return sorted(plans, key=lambda plan: plan.mention.start)


def _mixed(joined: Sequence[tuple[int, int, str]], spans: Iterable[Span]) -> frozenset[int]:
    """The starts of the stretches that were joined from spans of different labels."""
    found = set()
    at = 0
    for span in sorted(spans):
        while joined[at][1] <= span.start:
            at += 1
        if joined[at][2] != span.label:
            found.add(joined[at][0])
    return frozenset(found)


def _uncovered(
    text: str, kept: Iterable[tuple[int, int, str]], replaced: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """The parts of the kept stretches outside the replaced ones, without white space at their ends."""
    first = 0
    for start, end, label in kept:
        while first < len(replaced) and replaced[first][1] <= start:
            first += 1
        cuts = [start]
        at = first
        while at < len(replaced) and replaced[at][0] < end:
            cuts += replaced[at][:2]
            at += 1
        cuts.append(end)
        for a, b in zip(cuts[::2], cuts[1::2], strict=True):
            if a < b:
                a, b = trim(text, a, b)
                if a < b:
                    yield a, b, label
