"""The kinds of identifiers that policies and surrogates tell apart, and the kind of each label of a shipped set."""

import json
from enum import StrEnum
from functools import cache
from pathlib import Path


class IdentifierType(StrEnum):
    """What an identifier is, whatever a label set calls it."""

    NAME = "name"  # patients, relatives, friends
    STAFF = "staff"  # people who treat them
    USERNAME = "username"
    AGE = "age"
    DATE = "date"
    PROFESSION = "profession"
    HOSPITAL = "hospital"
    ORGANIZATION = "organization"
    STREET = "street"
    ZIP = "zip"
    CITY = "city"
    REGION = "region"
    COUNTRY = "country"
    LOCATION = "location"  # any other or mixed place
    PHONE = "phone"
    FAX = "fax"
    EMAIL = "email"
    URL = "url"
    IP = "ip"
    NATIONAL_ID = "national id"
    RECORD = "medical record"
    HEALTH_PLAN = "health plan"
    ACCOUNT = "account"
    LICENSE = "license"
    VEHICLE = "vehicle"
    DEVICE = "device"
    BIOMETRIC = "biometric"
    ID = "id"  # any other number or code of a person
    SEX = "sex"
    FAMILY = "family"  # relatives as words: "his brother", marital status
    ETHNICITY = "ethnicity"
    OTHER = "other"


@cache
def kinds_of(label_set: str) -> dict[str, IdentifierType]:
    """The kind of each label code of a shipped label set; empty for a set that is not shipped."""
    return {code: IdentifierType(kind) for code, kind in _shipped().get(label_set, {}).items()}


@cache
def kind_of(code: str) -> IdentifierType | None:
    """The kind of a label code in the shipped sets, in which no code has two kinds; None for any other code."""
    return next((IdentifierType(kinds[code]) for kinds in _shipped().values() if code in kinds), None)


@cache
def _shipped() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))
    return found
