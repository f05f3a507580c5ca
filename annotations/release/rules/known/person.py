"""A person of a patient master, and the strings that identify the person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from annotations.release.rules.redaction.kinds import IdentifierType


@dataclass(frozen=True, slots=True)
class Identifier:
    """A string that identifies a person, as it is usually written, and what it is."""

    text: str
    kind: IdentifierType


@dataclass(frozen=True, slots=True)
class MasterPerson:
    """What a patient master says about one patient. Values are as in the file; several values in its order.

    `birth_dates` are ISO dates. `relatives` are full names.
    """

    given: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    second_family: tuple[str, ...] = ()
    birth_dates: tuple[str, ...] = ()
    sex: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    streets: tuple[str, ...] = ()
    zips: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    national_ids: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    insurance: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    relatives: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, list[str]]:
        """The fields that have values."""
        return {name: list(values) for name in FIELDS if (values := getattr(self, name))}

    @classmethod
    def read(cls, data: Mapping[str, Sequence[Any]]) -> "MasterPerson":
        """The inverse of `as_dict`."""
        return cls(**{name: tuple(map(str, data[name])) for name in FIELDS if name in data})


FIELDS: Final = tuple(field.name for field in fields(MasterPerson))
# What a field's values are, for the fields whose values stand alone. The sex identifies nobody.
_KINDS: Final = {
    "phones": IdentifierType.PHONE,
    "emails": IdentifierType.EMAIL,
    "streets": IdentifierType.STREET,
    "zips": IdentifierType.ZIP,
    "cities": IdentifierType.CITY,
    "national_ids": IdentifierType.NATIONAL_ID,
    "records": IdentifierType.RECORD,
    "insurance": IdentifierType.HEALTH_PLAN,
    "ids": IdentifierType.ID,
    "relatives": IdentifierType.NAME,
    "birth_dates": IdentifierType.DATE,
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


def identifiers(person: MasterPerson) -> list[Identifier]:
    """The distinct strings that identify the person, each as it is usually written; names first."""
    found = [Identifier(name, IdentifierType.NAME) for name in full_names(person)]
    for field, kind in _KINDS.items():
        found += [Identifier(value, kind) for value in getattr(person, field)]
    return list(dict.fromkeys(found))
