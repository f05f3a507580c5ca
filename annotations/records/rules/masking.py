"""What a rule writes in place of a value, by what the value is. The answer is valid where the value was.

Text gets a placeholder; dates move or keep their year; ids and references become keyed hashes, so that links hold; all
else is removed.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Protocol
from uuid import UUID

from annotations.records.rules.schemas import FieldRule, LeafRule, ValueType
from annotations.release.rules.redaction.calendars import Move
from annotations.release.rules.redaction.operators import InNote
from annotations.release.rules.redaction.policy import Action, IdentifierType
from annotations.release.rules.redaction.released import Mention, OperatorContext

GONE: Final = object()
"""The value is removed."""
HASH_DIGITS: Final = 32
"""Hexadecimal digits of a hash: 128 bits."""
_DAY: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.*)?)?)?", re.DOTALL)
_REFERENCE: Final = re.compile(r"(?:.*/)?([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[^/]+)?", re.DOTALL)
_OLDEST: Final = 89
_FIRST: Final = {ValueType.DAY: "-01-01", ValueType.INSTANT: "-01-01T00:00:00Z"}
_ACTIONS: Final = {
    Action.KEEP: FieldRule.PASS, Action.MASK: FieldRule.MASK, Action.REMOVE: FieldRule.REMOVE,
    Action.HASH: FieldRule.HASH, Action.SHIFT: FieldRule.SHIFT, Action.GENERALIZE: FieldRule.GENERALIZE,
    Action.SURROGATE: FieldRule.SURROGATE,
}  # fmt: skip


class Digest(Protocol):
    """The key of a project (annotations.core.sealing.Key)."""

    def hexdigest(self, purpose: str, *parts: str) -> str: ...

    def number(self, purpose: str, *parts: str) -> int: ...


@dataclass(frozen=True)
class NamedKind:
    """What a schema calls a kind or label: its kind, the project's label for it (empty: none), its placeholder, and
    what the release's policy does with it.
    """

    kind: IdentifierType
    label: str
    placeholder: str
    action: Action


@dataclass(frozen=True)
class MaskingContext:
    """What values of one patient are masked with. `days`: the offset of the patient's dates; `year`: the current one.

    `kinds` has what schemas call each kind.
    """

    key: Digest
    kinds: Callable[[str], NamedKind]
    days: int
    year: int
    language: str = ""


def resolved(rule: LeafRule, kinds: Callable[[str], NamedKind]) -> LeafRule:
    """The rule itself, or what the policy does with the kind. Neither keeps a value that the policy doesn't keep."""
    return LeafRule(_ACTIONS[kinds(rule.what).action], rule.what) if rule.rule is FieldRule.POLICY else rule


def written(value: Any, type: ValueType, rule: LeafRule, domain: str, context: MaskingContext) -> Any:
    """What becomes of a value under a resolved rule; GONE if it is removed. Free text and surrogates come from notes.

    `domain`: where the hash of the same value is the same. A value that can't be shifted or generalized is masked.
    """
    match rule.rule:
        case FieldRule.PASS:
            return value
        case FieldRule.HASH:
            return _hashed(value, type, rule.what or domain, context.key)
        case FieldRule.SHIFT | FieldRule.GENERALIZE:
            new = _moved(value, type, rule, context)
            if new is not None:
                return new
        case FieldRule.REMOVE:
            return GONE
    if type is not ValueType.TEXT or not isinstance(value, str):
        return GONE
    return context.kinds(rule.what or "id").placeholder


def _hashed(value: Any, type: ValueType, domain: str, key: Digest) -> Any:
    """The hash of an id within its domain; of a reference, that of the id within its type, with the type before it."""
    if type is ValueType.REFERENCE:
        return hashed_reference(str(value), key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return GONE
    digest = key.hexdigest("record", domain, str(value))
    return int(digest, 16) % 10**15 if isinstance(value, int) else digest[:HASH_DIGITS]


def hashed_reference(value: str, key: Digest) -> Any:
    """A reference whose id is hashed as the id of the resource is. The address of a server becomes a neutral one."""
    if value.startswith("#"):
        return value
    if value.startswith("urn:uuid:"):
        return f"urn:uuid:{UUID(key.hexdigest('record', 'urn:uuid', value)[:32])}"
    match = _REFERENCE.fullmatch(value)
    if match is None:
        return GONE
    server = "https://fhir.invalid/" if "://" in value else ""
    return f"{server}{match[1]}/{key.hexdigest('record', match[1], match[2])[:HASH_DIGITS]}"


def reference_id(value: str) -> str:
    """The id that a reference names: “123” of “Patient/123”, the number of a “urn:uuid:”."""
    match = _REFERENCE.fullmatch(value)
    return match[2] if match else value.removeprefix("urn:uuid:")


def _moved(value: Any, type: ValueType, rule: LeafRule, context: MaskingContext) -> Any:
    """The shifted or generalized value; None if that is not possible."""
    shift = rule.rule is FieldRule.SHIFT
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_age = not shift and context.kinds(rule.what).kind is IdentifierType.AGE
        return value if is_age and value <= _OLDEST else None
    if not isinstance(value, str):
        return None
    kind = IdentifierType.DATE if shift else context.kinds(rule.what).kind
    match = _DAY.fullmatch(value)
    if kind is IdentifierType.DATE and match:
        with suppress(ValueError, OverflowError):
            return _shifted(match, context.days) if shift else _year(match, type, context.year)
        return None
    if type not in (ValueType.TEXT, ValueType.CODE):
        return None
    mention = Mention(0, len(value), "", kind, value)
    replacing = OperatorContext(context.language, context.days, None, context.year, _never, _never, _never)
    return InNote([mention], {}, replacing).replaced(mention, Action.SHIFT if shift else Action.GENERALIZE)


def _shifted(match: "re.Match[str]", days: int) -> str:
    """A date of ISO 8601 in its own precision. The time of day stays, as in notes."""
    move, (year, month, day, time) = Move(days), match.groups()
    if day:
        return move.day(int(year), int(month), int(day)).isoformat() + (time or "")
    if month:
        return move.month(int(year), int(month)).isoformat()[:7]
    return str(move.day(int(year), 7, 2).year)


def _year(match: "re.Match[str]", type: ValueType, now: int) -> str | None:
    """The year, where need be as its first day; None if it tells an age over 89 (45 CFR 164.514(b)(2)(i)(C))."""
    if int(match[1]) < now - _OLDEST:
        return None
    date(int(match[1]), int(match[2] or 1), int(match[3] or 1))  # the day exists
    return match[1] + _FIRST.get(type, "")


def _never(_mention: Mention) -> Any:
    raise AssertionError("Fields are hashed, numbered and replaced by their own functions.")


def released(value: Any, texts: Mapping[str, str], pointer: str, type: ValueType) -> Any:
    """What the released note says in place of a value; GONE if nothing is left of it."""
    text = texts.get(pointer, "")
    if not text and value:
        return GONE if type is not ValueType.TEXT else ""
    return text
