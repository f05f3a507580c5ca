"""What a release replaces in one note: its annotations and decisions, and what is written in their place."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Final, NamedTuple

from annotations.core.sealing import Key
from annotations.release.rules.redaction import released as released_rules
from annotations.release.rules.redaction.calendars import with_weekday
from annotations.release.rules.redaction.date_reading import order_of
from annotations.release.rules.redaction.policy import Action, IdentifierType, LabelRule, Policy
from annotations.release.rules.redaction.releasing import PlannedReplacement
from annotations.release.services.surrogates.patients import date_offset
from annotations.text.attributes import Attributes
from annotations.text.search import folded
from annotations.text.spans import Bounds, Span

HASH_DIGITS = 16
"""Hexadecimal digits of a keyed hash: 64 bits, so that different identifiers of a project have different hashes."""
MASKED = "\x00"
"""Ends the label of a stretch that gets its label's placeholder, whatever the policy does with the label."""
_MOVING = frozenset({Action.SHIFT, Action.SURROGATE})
Surrogates = Mapping[tuple[int, int, int], str]
"""What to write for each mention, by note, start and end."""


class Extra(NamedTuple):
    """A stretch of the original that a decision added: bounds, label code, and whether it is masked in any case."""

    start: int
    end: int
    label: str
    masked: bool = False


class GoneMeanwhile(Exception):
    """A note was erased, or its findings were decided, while it was being prepared."""


@dataclass(frozen=True, slots=True)
class Original:
    """A note to prepare. `spans` are the chosen annotations, with the labels' codes; `extras` are decisions."""

    pk: int
    name: str
    text: str
    language: str
    patient: str
    spans: Sequence[Span]
    extras: Sequence[Extra] = ()


def note_replacing(
    key: Key,
    note: Original,
    plans: Callable[[], Sequence[PlannedReplacement]],
    surrogates: Surrogates,
    month_first: bool | None = None,
    latest_year: int | None = None,
) -> released_rules.OperatorContext:
    """What operators need for one note. `plans` are made if a placeholder has a number."""

    def hashed(mention: released_rules.Mention) -> str:
        text = " ".join(folded(mention.text).split())
        return key.hexdigest("hash", str(mention.kind), text)[:HASH_DIGITS]

    @cache
    def numbers() -> Mapping[Bounds, int]:
        mentions = (plan.mention for plan in plans())
        return released_rules.numbered(one._replace(label=one.label.removesuffix(MASKED)) for one in mentions)

    def surrogate(mention: released_rules.Mention) -> str:
        try:
            return surrogates[note.pk, mention.start, mention.end]
        except KeyError:
            raise GoneMeanwhile from None

    def number(mention: released_rules.Mention) -> int:
        return numbers()[mention.start, mention.end]

    days = date_offset(key, note.patient, note.pk)
    return released_rules.OperatorContext(note.language, days, month_first, latest_year, hashed, number, surrogate)


def with_masks(policy: Policy) -> Policy:
    """The policy with a rule for each label that a decision masks."""
    masks = {code + MASKED: LabelRule(rule.kind, Action.MASK, rule.numbered) for code, rule in policy.rules.items()}
    return Policy({**policy.rules, **masks})


def chosen_spans(note: Original, policy: Policy) -> list[Span]:
    """The spans to release, those that a decision masks with a marked label.

    A date that moves comes with the weekday beside it: the weekday of the old date would tell the days modulo 7.
    """
    forced = [extra for extra in note.extras if extra.masked]
    spans = []
    for span in [*note.spans, *(Span(*extra[:3]) for extra in note.extras if not extra.masked)]:
        rule = policy.rules[span.label]
        if rule.kind is IdentifierType.DATE and rule.action in _MOVING:
            start, end = with_weekday(note.text, span.start, span.end)
            span = span if (start, end) == (span.start, span.end) else replace(span, start=start, end=end)
        mark = next((one for one in forced if one.start < span.end and span.start < one.end), None)
        marked = mark is not None and rule.action is not Action.KEEP
        spans.append(Span(span.start, span.end, mark.label + MASKED) if mark and marked else span)
    return [*spans, *(Span(extra.start, extra.end, extra.label + MASKED) for extra in forced)]


def unmarked(released: released_rules.RedactedText) -> released_rules.RedactedText:
    if not any(piece.label.endswith(MASKED) for piece in released.pieces):
        return released
    pieces = [piece._replace(label=piece.label.removesuffix(MASKED)) for piece in released.pieces]
    return released_rules.RedactedText(released.text, pieces)


def released_spans(pieces: released_rules.Pieces, spans: Sequence[Span]) -> list[tuple[int, int, str, Attributes]]:
    """The spans of the released text. Nothing is left of a removed one."""
    if not any(span.attributes for span in spans):
        return [(one.new_start, one.new_end, one.label, ()) for one in pieces if one.new_start < one.new_end]
    return [
        (one.new_start, one.new_end, one.label, attributes)
        for one, attributes in zip(pieces, released_rules.attributes_of_pieces(pieces, spans), strict=True)
        if one.new_start < one.new_end
    ]


# Whether the day or the month comes first in dates in figures.


DAY_FIRST: Final = ("es", "it")
"""Languages in which the day always comes before the month."""


class DateOrder:
    """The order that the unambiguous dates of a note tell, else those of its patient, else those of the project."""

    def __init__(self, policy: Policy, first: Callable[[], Sequence[Original]]) -> None:
        """`first` reads the first notes of the release."""
        self._dates = frozenset(code for code, rule in policy.rules.items() if rule.kind is IdentifierType.DATE)
        self._first = first

    def month_first(self, note: Original, notes: Sequence[Original]) -> bool | None:
        """Whether the month comes first; None if nothing tells it. `notes`: all notes of the patient are among them."""
        order = self._order_in([note])
        if order is None and note.patient:
            order = self._order_in([one for one in notes if one.patient == note.patient])
        return self._of_project if order is None and note.language not in DAY_FIRST else order

    def _order_in(self, notes: Iterable[Original]) -> bool | None:
        found = {
            order
            for note in notes
            for span in note.spans
            if span.label in self._dates and (order := order_of(note.text[span.start : span.end])) is not None
        }
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _of_project(self) -> bool | None:
        return self._order_in(self._first())
