"""A person of a patient master, and the strings that identify the person."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

from annotations.text.identifiers import IdentifierType
from annotations.text.wording import gettext_noop


def _values(words: str, kind: IdentifierType | None = None) -> Any:
    """A field: its name for people, and what its values are where they stand alone. The sex identifies nobody."""
    return field(default=(), metadata={"words": words, "kind": kind})


@dataclass(frozen=True, slots=True)
class MasterPerson:
    """What a patient master says about one patient. Values are as in the file; several values in its order.

    `birth_dates` are ISO dates. `relatives` are full names.
    """

    given: tuple[str, ...] = _values(gettext_noop("Given names"))
    family: tuple[str, ...] = _values(gettext_noop("Family names"))
    second_family: tuple[str, ...] = _values(gettext_noop("Second family names"))
    birth_dates: tuple[str, ...] = _values(gettext_noop("Birth date"), IdentifierType.DATE)
    sex: tuple[str, ...] = _values(gettext_noop("Sex"))
    phones: tuple[str, ...] = _values(gettext_noop("Phone numbers"), IdentifierType.PHONE)
    emails: tuple[str, ...] = _values(gettext_noop("E-mail addresses"), IdentifierType.EMAIL)
    streets: tuple[str, ...] = _values(gettext_noop("Streets"), IdentifierType.STREET)
    zips: tuple[str, ...] = _values(gettext_noop("ZIP codes"), IdentifierType.ZIP)
    cities: tuple[str, ...] = _values(gettext_noop("Cities"), IdentifierType.CITY)
    national_ids: tuple[str, ...] = _values(gettext_noop("National IDs"), IdentifierType.NATIONAL_ID)
    records: tuple[str, ...] = _values(gettext_noop("Medical record numbers"), IdentifierType.RECORD)
    insurance: tuple[str, ...] = _values(gettext_noop("Insurance numbers"), IdentifierType.HEALTH_PLAN)
    ids: tuple[str, ...] = _values(gettext_noop("Other IDs"), IdentifierType.ID)
    relatives: tuple[str, ...] = _values(gettext_noop("Names of relatives"), IdentifierType.NAME)

    def as_dict(self) -> dict[str, list[str]]:
        """The fields that have values."""
        return {name: list(values) for name in FIELDS if (values := getattr(self, name))}

    @classmethod
    def read(cls, data: Mapping[str, Sequence[Any]]) -> "MasterPerson":
        """The inverse of `as_dict`."""
        return cls(**{name: tuple(map(str, data[name])) for name in FIELDS if name in data})


FIELD_NAMES: Final[dict[str, str]] = {one.name: one.metadata["words"] for one in fields(MasterPerson)}
FIELDS: Final = tuple(FIELD_NAMES)
FIELD_KINDS: Final[dict[str, IdentifierType]] = {
    one.name: one.metadata["kind"] for one in fields(MasterPerson) if one.metadata["kind"]
}


def full_names(person: MasterPerson) -> list[str]:
    """The person's names, given names first. A name at a place of one field belongs to those at the same place."""
    count = max(len(person.given), len(person.family))
    names = []
    for at in range(count):
        parts = [_at(values, at) for values in (person.given, person.family, person.second_family)]
        names.append(" ".join(part for part in parts if part))
    return names


def _at(values: Sequence[str], at: int) -> str:
    """The value at a place; the only value stands for all places."""
    return values[at] if at < len(values) else values[0] if len(values) == 1 else ""


def identifiers(person: MasterPerson) -> list[tuple[str, IdentifierType]]:
    """The distinct strings that identify the person, each as it is usually written, with their kinds; names first."""
    found = [(name, IdentifierType.NAME) for name in full_names(person)]
    found += ((value, kind) for name, kind in FIELD_KINDS.items() for value in getattr(person, name))
    return list(dict.fromkeys(found))


# A mention of a known identifier in a note.


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


# The digits of telephone numbers, with and without the prefix of their country.


EXTENSION: Final = re.compile(r"(?:\s*(?:x|ext\.?)\s*\d+)", re.IGNORECASE)
"""An extension after a telephone number."""

_COUNTRIES: Final = ("39", "34", "1", "44", "33", "49", "351", "41", "52", "54", "56", "57", "51")
_WRITTEN_FOR: Final = ("39", "34", "1")
# A national number of these begins with a zero that is left out after the prefix: 07700 900123 is +44 7700 900123.
_WITH_ZERO: Final = ("44", "33", "49")
_DIGITS: Final = re.compile(r"\d+")


def telephone_forms(value: str) -> Iterator[str]:
    """The digits of a telephone number as people write it: as it is, national, and with the prefix of a country."""
    number = EXTENSION.sub("", value)
    digits = "".join(_DIGITS.findall(number))
    yield digits
    national = digits
    if number.strip().startswith("+") or digits.startswith("00"):
        rest = digits.removeprefix("00")
        national = next((rest[len(each) :] for each in _COUNTRIES if rest.startswith(each) and len(rest) > 9), rest)
    elif len(digits) == 11 and digits.startswith(("1", "34")):
        national = digits[1:] if digits[0] == "1" else digits[2:]
    yield national
    for country in _WRITTEN_FOR:
        yield country + national
        yield "00" + country + national
    yield "001" + national
    if national.startswith("0"):
        for country in _WITH_ZERO:
            yield from (country + national[1:], "00" + country + national[1:], country + national)
    elif national != digits:
        yield "0" + national
