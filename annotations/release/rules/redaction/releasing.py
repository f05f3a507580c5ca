"""The released text of a note. Offsets are code points, end-exclusive."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from annotations.release.rules.redaction.operators import InNote
from annotations.release.rules.redaction.policy import Action, Policy
from annotations.release.rules.redaction.released import Mention, OperatorContext, RedactedText, ReplacedPiece
from annotations.text.spans import Bounds, Span, stretches, trim

# Which stretches of a note a release replaces, and by which action. Offsets are code points, end-exclusive.


# These actions may write a part of the original.
_PARTIAL: Final = frozenset({Action.GENERALIZE, Action.SHIFT})


class PlannedReplacement(NamedTuple):
    """A mention and what happens to it."""

    mention: Mention
    action: Action


def planned(text: str, spans: Iterable[Span], policy: Policy) -> list[PlannedReplacement]:
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
    actions = [
        (start, end, label, Action.MASK if start in mixed and rules[label].action in _PARTIAL else rules[label].action)
        for start, end, label in joined
    ]
    if len(replaced) < len(spans):
        kept = stretches(span for span in spans if rules[span.label].action is Action.KEEP)
        actions += ((*stretch, Action.KEEP) for stretch in _uncovered(text, kept, joined))
    return [
        PlannedReplacement(Mention(start, end, label, rules[label].kind, text[start:end]), action)
        for start, end, label, action in sorted(actions)
    ]


def _mixed(joined: Sequence[tuple[int, int, str]], spans: Iterable[Span]) -> frozenset[int]:
    """The starts of the stretches that were joined from spans of different labels."""
    ends = [end for _start, end, _label in joined]
    holding = ((span, joined[bisect_right(ends, span.start)]) for span in spans)
    return frozenset(start for span, (start, _end, label) in holding if label != span.label)


def _uncovered(
    text: str, kept: Iterable[tuple[int, int, str]], replaced: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """The parts of the kept stretches outside the replaced ones, without white space at their ends."""
    starts, ends = [start for start, _end, _label in replaced], [end for _start, end, _label in replaced]
    for start, end, label in kept:
        inside = replaced[bisect_right(ends, start) : bisect_left(starts, end)]
        cuts = [start, *(at for stretch in inside for at in stretch[:2]), end]
        for a, b in zip(cuts[::2], cuts[1::2], strict=True):
            a, b = trim(text, a, max(a, b))
            if a < b:
                yield a, b, label


# Closing the gaps that removed text leaves: no double spaces, none before punctuation, no empty brackets.


_SPACES: Final = " \t\xa0"
_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
_CLOSING: Final = frozenset(".,;:!?)]}»")
_OPENING: Final = {"(": ")", "[": "]", "{": "}", "«": "»"}


def widened(text: str, start: int, end: int, lowest: int, highest: int) -> tuple[int, int]:
    """The bounds of what to remove so that the text without `start` to `end` stays readable.

    They lie between `lowest` and `highest`, where other replaced text may begin.
    """
    while True:
        left, right = _spaces_before(text, start, lowest), _spaces_after(text, end, highest)
        before = text[left - 1] if left > lowest else ""
        after = text[right] if right < highest else ""
        begins = before in _BREAKS or left == 0
        ends = after in _BREAKS or right == len(text)
        if before and _OPENING.get(before) == after:
            start, end = left - 1, right + 1
        elif before in (",", ";") and after and after in ",;.":
            start, end = left - 1, end
        elif begins:
            return (left if ends else start), right
        elif ends or after in _CLOSING:
            return left, right
        elif before in _OPENING:
            return start, right
        else:
            return (left if right > end else start), end


def _spaces_before(text: str, at: int, lowest: int) -> int:
    return lowest + len(text[lowest:at].rstrip(_SPACES))


def _spaces_after(text: str, at: int, highest: int) -> int:
    return highest - len(text[at:highest].lstrip(_SPACES))


def release_text(
    text: str, spans: Iterable[Span], policy: Policy, placeholder_of: Mapping[str, str], replacing: OperatorContext
) -> RedactedText:
    """Replace the spans of a note as the policy says.

    See `planning.planned` for spans that overlap, and for which mentions `replacing` is asked. A mention that can't be
    generalized or shifted is masked, and its piece says so. Where text is removed, the piece includes the spaces that
    would be left over. Raises PolicyError for a label without a rule.
    """
    plans = planned(text, spans, policy)
    note = InNote([plan.mention for plan in plans], placeholder_of, replacing)
    parts: list[str] = []
    pieces: list[ReplacedPiece] = []
    done = length = 0
    for plan, (start, end) in zip(plans, _bounds(text, plans), strict=True):
        new, action = _written(plan, note, policy)
        parts += (text[done:start], new)
        new_start = length + start - done
        length = new_start + len(new)
        pieces.append(ReplacedPiece(start, end, new_start, length, plan.mention.label, action))
        done = end
    return RedactedText("".join([*parts, text[done:]]), pieces)


def writes_label(mention: Mention, policy: Policy, replacing: OperatorContext) -> bool:
    """Whether a finding gets something with its label in its place.

    So it is where the policy masks, hashes or keeps the label, and for a text that can't be shifted or generalized.
    """
    action = policy.rules[mention.label].action
    if action in (Action.SHIFT, Action.GENERALIZE):
        return InNote([mention], {}, replacing).replaced(mention, action) is None
    return action not in (Action.REMOVE, Action.SURROGATE)


def _written(plan: PlannedReplacement, note: InNote, policy: Policy) -> tuple[str, Action]:
    new = note.replaced(plan.mention, plan.action)
    if new is not None:
        return new, plan.action
    return note.masked(plan.mention, numbered=policy.rules[plan.mention.label].numbered), Action.MASK


def _bounds(text: str, plans: Sequence[PlannedReplacement]) -> Iterable[Bounds]:
    """The bounds of each replaced stretch: those of its mention, wider where text is removed."""
    bounds = [(plan.mention.start, plan.mention.end) for plan in plans]
    at = 0
    while at < len(plans):
        if plans[at].action is not Action.REMOVE:
            at += 1
            continue
        last = at
        while (
            last + 1 < len(plans)
            and plans[last + 1].action is Action.REMOVE
            and _spaces_after(text, bounds[last][1], bounds[last + 1][0]) == bounds[last + 1][0]
        ):
            bounds[last] = (bounds[last][0], bounds[last + 1][0])
            last += 1
        lowest = bounds[at - 1][1] if at else 0
        highest = bounds[last + 1][0] if last + 1 < len(plans) else len(text)
        start, end = widened(text, bounds[at][0], bounds[last][1], lowest, highest)
        bounds[at] = (start, bounds[at][1])
        bounds[last] = (bounds[last][0], end)
        at = last + 1
    return bounds
