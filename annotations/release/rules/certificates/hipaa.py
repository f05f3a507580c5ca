"""The eighteen identifiers of HIPAA's Safe Harbor method (45 CFR 164.514(b)(2)(i), (A) to (R)), and their labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType


@dataclass(frozen=True, slots=True)
class Identifier:
    """One of the eighteen. `code` is its label in the shipped label set hipaa-18; (Q) covers photos and images."""

    letter: str
    code: str
    name: str


IDENTIFIERS: Final = (
    Identifier("A", "NAMES", "Names"),
    Identifier("B", "GEOGRAPHIC", "Geographic subdivisions smaller than a state"),
    Identifier("C", "DATES", "Dates except the year, and ages over 89"),
    Identifier("D", "PHONE", "Telephone numbers"),
    Identifier("E", "FAX", "Fax numbers"),
    Identifier("F", "EMAIL", "E-mail addresses"),
    Identifier("G", "SSN", "Social security numbers"),
    Identifier("H", "MEDICAL_RECORD", "Medical record numbers"),
    Identifier("I", "HEALTH_PLAN", "Health plan beneficiary numbers"),
    Identifier("J", "ACCOUNT", "Account numbers"),
    Identifier("K", "LICENSE", "Certificate and license numbers"),
    Identifier("L", "VEHICLE", "Vehicle identifiers, license plates"),
    Identifier("M", "DEVICE", "Device identifiers and serial numbers"),
    Identifier("N", "URL", "Web addresses (URLs)"),
    Identifier("O", "IP_ADDRESS", "IP addresses"),
    Identifier("P", "BIOMETRIC", "Biometric identifiers"),
    Identifier("Q", "PHOTO", "Full-face photographs and comparable images"),
    Identifier("R", "OTHER_ID", "Any other unique number, characteristic or code"),
)

OF_KIND: Final[Mapping[IdentifierType, str | None]] = {
    IdentifierType.NAME: "NAMES",
    IdentifierType.STAFF: "NAMES",
    IdentifierType.USERNAME: "OTHER_ID",
    IdentifierType.AGE: "DATES",
    IdentifierType.DATE: "DATES",
    IdentifierType.PROFESSION: None,
    IdentifierType.HOSPITAL: None,
    IdentifierType.ORGANIZATION: None,
    IdentifierType.STREET: "GEOGRAPHIC",
    IdentifierType.ZIP: "GEOGRAPHIC",
    IdentifierType.CITY: "GEOGRAPHIC",
    IdentifierType.REGION: None,
    IdentifierType.COUNTRY: None,
    IdentifierType.LOCATION: "GEOGRAPHIC",
    IdentifierType.PHONE: "PHONE",
    IdentifierType.FAX: "FAX",
    IdentifierType.EMAIL: "EMAIL",
    IdentifierType.URL: "URL",
    IdentifierType.IP: "IP_ADDRESS",
    IdentifierType.NATIONAL_ID: "SSN",
    IdentifierType.RECORD: "MEDICAL_RECORD",
    IdentifierType.HEALTH_PLAN: "HEALTH_PLAN",
    IdentifierType.ACCOUNT: "ACCOUNT",
    IdentifierType.LICENSE: "LICENSE",
    IdentifierType.VEHICLE: "VEHICLE",
    IdentifierType.DEVICE: "DEVICE",
    IdentifierType.BIOMETRIC: "BIOMETRIC",
    IdentifierType.ID: "OTHER_ID",
    IdentifierType.SEX: None,
    IdentifierType.FAMILY: None,
    IdentifierType.ETHNICITY: None,
    IdentifierType.OTHER: "OTHER_ID",
}
"""The identifier of each kind; None for a kind that is none of the eighteen."""


_PARTS: Final[Mapping[str, Sequence[frozenset[IdentifierType]]]] = {
    "NAMES": (frozenset({IdentifierType.NAME}),),
    "GEOGRAPHIC": tuple(
        frozenset({IdentifierType.LOCATION, one})
        for one in (IdentifierType.STREET, IdentifierType.ZIP, IdentifierType.CITY)
    ),
    "DATES": (frozenset({IdentifierType.DATE}), frozenset({IdentifierType.AGE})),
}
# Labels of the set redactor-33 for some dates, devices, documents or numbers only.
_SOME: Final = frozenset({"BIRTH_DATE_TIME", "DEATH_DATE_TIME", "MAC_ADDRESS", "PASSPORT_NUMBER_US", "FIN", "GUID"})
_ADDRESSES: Final = frozenset({"ADDRESS"})  # its streets come with town and ZIP code


def covers_all(identifier: str, labels: Iterable[tuple[str, IdentifierType]]) -> bool:
    """Whether labels, given by code and kind, cover all of an identifier: each of its parts has one of them.

    The labels of hipaa-18 are the identifiers themselves. An identifier that is not listed in parts needs one label.
    """
    found = [(code, kind) for code, kind in labels if code not in _SOME]
    if any(code == identifier for code, _kind in found):
        return True
    kinds = {kind for _code, kind in found}
    if any(code in _ADDRESSES for code, _kind in found):
        kinds |= {IdentifierType.ZIP, IdentifierType.CITY}
    return bool(found) and all(kinds & part for part in _PARTS.get(identifier, ()))


def identifier_of(label: str, kind: IdentifierType, mapped: Mapping[str, str | None]) -> str | None:
    """The code of a label's identifier: by the label set's mapping to hipaa-18 where it has the label, else by kind."""
    return mapped[label] if label in mapped else OF_KIND[kind]
