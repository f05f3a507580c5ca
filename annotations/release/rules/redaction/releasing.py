"""The released text of a note. Offsets are code points, end-exclusive."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from annotations.release.rules.redaction.operators import OPERATORS
from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.operators.mask import mask, numbered_mask
from annotations.release.rules.redaction.planning import Planned, planned
from annotations.release.rules.redaction.policy import Action, Policy
from annotations.release.rules.redaction.released import Mention, Released, ReplacedPiece, Replacing
from annotations.text.spans import Bounds, Span

# Closing the gaps that removed text leaves: no double spaces, none before punctuation, no empty brackets.


_SPACES: Final = frozenset(" \t\xa0")
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
    while at > lowest and text[at - 1] in _SPACES:
        at -= 1
    return at


def _spaces_after(text: str, at: int, highest: int) -> int:
    while at < highest and text[at] in _SPACES:
        at += 1
    return at


def only_spaces(text: str, start: int, end: int) -> bool:
    """Whether nothing but spaces lies between the bounds; true if they are equal."""
    return _spaces_after(text, start, end) == end


def release_text(
    text: str, spans: Iterable[Span], policy: Policy, placeholder_of: Mapping[str, str], replacing: Replacing
) -> Released:
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
    return Released("".join([*parts, text[done:]]), pieces)


def writes_label(mention: Mention, policy: Policy, replacing: Replacing) -> bool:
    """Whether a finding gets something with its label in its place.

    So it is where the policy masks, hashes or keeps the label, and for a text that can't be shifted or generalized.
    """
    action = policy.rules[mention.label].action
    if action in (Action.SHIFT, Action.GENERALIZE):
        return OPERATORS[action](mention, InNote([mention], {}, replacing)) is None
    return action not in (Action.REMOVE, Action.SURROGATE)


def _written(plan: Planned, note: InNote, policy: Policy) -> tuple[str, Action]:
    mention, action = plan.mention, plan.action
    if action is not Action.MASK:
        new = OPERATORS[action](mention, note)
        if new is not None:
            return new, action
    masking = numbered_mask if policy.rules[mention.label].numbered else mask
    return masking(mention, note), Action.MASK


def _bounds(text: str, plans: Sequence[Planned]) -> Iterable[Bounds]:
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
            and only_spaces(text, bounds[last][1], bounds[last + 1][0])
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
