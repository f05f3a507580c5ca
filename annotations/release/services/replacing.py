"""What a release replaces in one note: its annotations and decisions, and what is written in their place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from annotations.core.sealing import Key
from annotations.release.rules.redaction.attributes import attributes_of_pieces
from annotations.release.rules.redaction.numbering import numbered
from annotations.release.rules.redaction.planning import Planned
from annotations.release.rules.redaction.policy import Action, LabelRule, Policy
from annotations.release.rules.redaction.released import Mention, Released, ReplacedPiece
from annotations.release.services.surrogates.date_offsets import date_offset
from annotations.text.attributes import Attributes
from annotations.text.search import folded
from annotations.text.spans import Bounds, Span

HASH_DIGITS = 16
"""Hexadecimal digits of a keyed hash: 64 bits, so that different identifiers of a project have different hashes."""
MASKED = "\x00"
"""Ends the label of a stretch that gets its label's placeholder, whatever the policy does with the label."""
Surrogates = Mapping[tuple[int, int, int], str]
"""What to write for each mention, by note, start and end."""


class Extra(NamedTuple):
    """A stretch of the original that a decision added: bounds, label code, and whether it is masked in any case."""

    start: int
    end: int
    label: str
    masked: bool = False


class GoneMeanwhile(Exception):
    """A note was erased while it was being prepared."""


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


class NoteReplacing:
    """What operators need for one note (domain.redaction.released.Replacing)."""

    def __init__(
        self,
        key: Key,
        note: Original,
        plans: Callable[[], Sequence[Planned]],
        surrogates: Surrogates,
        month_first: bool | None = None,
        latest_year: int | None = None,
    ) -> None:
        self._key = key
        self.latest_year = latest_year
        self.month_first = month_first
        self._note = note
        self._plans = plans
        self._surrogates = surrogates

    @property
    def language(self) -> str:
        return self._note.language

    @cached_property
    def days(self) -> int:
        return date_offset(self._key, self._note.patient, self._note.pk)

    def hashed(self, mention: Mention) -> str:
        text = " ".join(folded(mention.text).split())
        return self._key.hexdigest("hash", str(mention.kind), text)[:HASH_DIGITS]

    def number(self, mention: Mention) -> int:
        return self._numbers[mention.start, mention.end]

    @cached_property
    def _numbers(self) -> Mapping[Bounds, int]:
        mentions = (plan.mention for plan in self._plans())
        return numbered(one._replace(label=one.label.removesuffix(MASKED)) for one in mentions)

    def surrogate(self, mention: Mention) -> str:
        try:
            return self._surrogates[self._note.pk, mention.start, mention.end]
        except KeyError:
            raise GoneMeanwhile from None


def with_masks(policy: Policy) -> Policy:
    """The policy with a rule for each label that a decision masks."""
    masks = {code + MASKED: LabelRule(rule.kind, Action.MASK, rule.numbered) for code, rule in policy.rules.items()}
    return Policy({**policy.rules, **masks})


def unmarked(released: Released) -> Released:
    if not any(piece.label.endswith(MASKED) for piece in released.pieces):
        return released
    pieces = [piece._replace(label=piece.label.removesuffix(MASKED)) for piece in released.pieces]
    return Released(released.text, pieces)


def released_spans(pieces: Sequence[ReplacedPiece], spans: Sequence[Span]) -> list[tuple[int, int, str, Attributes]]:
    """The spans of the released text. Nothing is left of a removed one."""
    if not any(span.attributes for span in spans):
        return [(one.new_start, one.new_end, one.label, ()) for one in pieces if one.new_start < one.new_end]
    return [
        (one.new_start, one.new_end, one.label, attributes)
        for one, attributes in zip(pieces, attributes_of_pieces(pieces, spans), strict=True)
        if one.new_start < one.new_end
    ]
