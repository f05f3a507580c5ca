"""What a rule can find. Kinds are finer than any label set, so that each set gets the label that fits it best."""

from enum import StrEnum


class Kind(StrEnum):
    """A kind of personal data; `labels.json` says which label it is in each label set."""

    DATE = "date"
    BIRTH_DATE = "date.birth"
    YEAR = "date.year"
    # "el año 2000": the words belong to the span in some sets.
    YEAR_WORDS = "date.year.words"
    MONTH = "date.month"
    # Weekdays, feasts, "día 7": dates for those who count everything that is no time of day.
    LOOSE_DATE = "date.loose"
    AGE = "age"
    # "54 años" where a set wants the unit too.
    AGE_UNIT = "age.unit"

    PATIENT = "name.patient"
    RELATIVE = "name.relative"
    STAFF = "name.staff"
    PERSON = "name.person"
    USER = "name.user"
    PROFESSION = "profession"
    SEX = "sex"
    FAMILY = "family"
    # "raza blanca", "viuda", "lactante": what describes the patient.
    TRAIT = "trait"

    STREET = "place.street"
    ZIP = "place.zip"
    CITY = "place.city"
    REGION = "place.region"
    STATE = "place.state"
    COUNTRY = "place.country"
    PLACE = "place.other"
    HOSPITAL = "org.hospital"
    CARE_CENTRE = "org.centre"
    ORGANIZATION = "org.other"
    # Who makes a drug or a device.
    MAKER = "org.maker"

    RECORD = "id.record"
    NATIONAL = "id.national"
    SOCIAL_SECURITY = "id.social"
    HEALTH_CARD = "id.card"
    HEALTH_PLAN = "id.plan"
    LICENCE = "id.licence"
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

    # Not personal: keeps weak rules off a stretch of text.
    TRAP = "trap"


VARIANTS = frozenset({Kind.AGE, Kind.AGE_UNIT, Kind.YEAR, Kind.YEAR_WORDS})
"""Two ways each to mark the same thing."""

SOFT = frozenset({Kind.SEX, Kind.FAMILY, Kind.TRAIT, Kind.MAKER})
"""Kinds that mustn't crowd out others where a label set doesn't want them."""

NAMES = frozenset({Kind.PATIENT, Kind.RELATIVE, Kind.STAFF, Kind.PERSON})
"""Kinds that are names of persons."""
