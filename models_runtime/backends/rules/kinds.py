"""The kinds of identifiers that rules find. They are finer than any label set, so that each set gets its best label."""

from enum import StrEnum


class RuleKind(StrEnum):
    """A kind of identifier. `labels.json` gives its label in each label set."""

    DATE = "date"
    BIRTH_DATE = "date.birth"
    YEAR = "date.year"
    # "el año 2000": in some label sets the span includes the word.
    YEAR_WORDS = "date.year.words"
    MONTH = "date.month"
    # Weekdays, feasts, "día 7": only some label sets count these as dates.
    LOOSE_DATE = "date.loose"
    AGE = "age"
    # "54 años": in some label sets the span includes the unit.
    AGE_UNIT = "age.unit"

    PATIENT = "name.patient"
    RELATIVE = "name.relative"
    STAFF = "name.staff"
    PERSON = "name.person"
    USER = "name.user"
    PROFESSION = "profession"
    SEX = "sex"
    FAMILY = "family"
    # "raza blanca", "viuda", "lactante": words that describe the patient.
    TRAIT = "trait"

    STREET = "place.street"
    ZIP = "place.zip"
    CITY = "place.city"
    REGION = "place.region"
    STATE = "place.state"
    COUNTRY = "place.country"
    PLACE = "place.other"
    HOSPITAL = "org.hospital"
    CARE_CENTER = "org.center"
    ORGANIZATION = "org.other"
    # The manufacturer of a drug or a device.
    MAKER = "org.maker"

    RECORD = "id.record"
    NATIONAL = "id.national"
    SOCIAL_SECURITY = "id.social"
    HEALTH_CARD = "id.card"
    HEALTH_PLAN = "id.plan"
    LICENSE = "id.license"
    EPISODE = "id.episode"
    CASE = "id.case"
    DEVICE = "id.device"
    VEHICLE = "id.vehicle"
    ACCOUNT = "id.account"

    PHONE = "contact.phone"
    FAX = "contact.fax"
    EMAIL = "contact.email"
    URL = "contact.url"
    IP = "contact.ip"

    # No identifier: keeps weak rules away from this part of the text.
    TRAP = "trap"


VARIANTS = frozenset({RuleKind.AGE, RuleKind.AGE_UNIT, RuleKind.YEAR, RuleKind.YEAR_WORDS})
"""Pairs of kinds for the same identifier, with and without its unit or word; a label set uses one of each pair."""

SOFT = frozenset({RuleKind.SEX, RuleKind.FAMILY, RuleKind.TRAIT, RuleKind.MAKER})
"""Kinds that are dropped before overlaps are resolved where the label set has no label for them."""

NAMES = frozenset({RuleKind.PATIENT, RuleKind.RELATIVE, RuleKind.STAFF, RuleKind.PERSON})
"""The kinds for names of persons."""
