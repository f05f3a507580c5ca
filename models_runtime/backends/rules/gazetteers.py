"""Kinds of identifiers and their labels; word lists of well-known public facts (`data/*.txt`)."""

import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from annotations.installation import SHIPPED
from annotations.text.search import word_groups
from models_runtime.backends.base import BackendError

# The kinds of identifiers that rules find. They are finer than any label set, so that each set gets its best label.


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

    @property
    def family(self) -> str:
        """The first part of the value: `name` for `name.patient`."""
        return self.value.partition(".")[0]


VARIANTS = frozenset({RuleKind.AGE, RuleKind.AGE_UNIT, RuleKind.YEAR, RuleKind.YEAR_WORDS})
"""Pairs of kinds for the same identifier, with and without its unit or word; a label set uses one of each pair."""

SOFT = frozenset({RuleKind.SEX, RuleKind.FAMILY, RuleKind.TRAIT, RuleKind.MAKER})
"""Kinds that are dropped before overlaps are resolved where the label set has no label for them."""

NAMES = frozenset({RuleKind.PATIENT, RuleKind.RELATIVE, RuleKind.STAFF, RuleKind.PERSON})
"""The kinds for names of persons."""


_DATA: Final = Path(__file__).with_name("data")
# Groups that the browser's expressions are built from too, and in "browser.…" what these have besides.
_SHARED: Final = SHIPPED / "static" / "js" / "text" / "words.json"
_PLACES: Final = {
    "cities_es": RuleKind.CITY,
    "cities_it": RuleKind.CITY,
    "cities_en": RuleKind.CITY,
    "regions": RuleKind.REGION,
    "states": RuleKind.STATE,
    "countries": RuleKind.COUNTRY,
}
GIVEN_NAMES: Final = {"it": "given_it", "es": "given_es", "en": "given_en"}


def _text(name: str) -> str:
    return (_DATA / f"{name}.txt").read_text(encoding="utf-8")


@cache
def word_set(name: str) -> frozenset[str]:
    """The words of a file, lower-cased."""
    return frozenset(map(str.lower, _text(name).split()))


@cache
def open_given(*languages: str) -> frozenset[str]:
    """The given names of these languages' open lists, lower-cased, without words of clinical notes and surnames.

    NOTICE.md tells where the lists come from.
    """
    found = frozenset[str]().union(*(word_set(f"open_given_{language}") for language in languages))
    others = (word_set(name) for name in ("not_names", "eponyms", "surnames"))
    return found.difference(*others, listed("persons", "sentence_starts"))


def phrases(name: str) -> Iterator[str]:
    """The phrases of a file, separated by semicolons."""
    return filter(None, map(str.strip, re.split("[;\n]", _text(name))))


@cache
def places() -> dict[str, tuple[RuleKind, bool]]:
    """Each lower-cased place name with its kind, and whether it counts without a preposition or field before it."""
    found: dict[str, tuple[RuleKind, bool]] = {}
    for name, kind in _PLACES.items():
        for phrase in (*phrases(name), *groups().get(name, ())):
            unambiguous = not phrase.startswith("?")
            key = phrase.removeprefix("?").lower()
            known = found.get(key)
            if known is None or (unambiguous and not known[1]):
                found[key] = (kind if known is None else known[0], unambiguous)
    return found


@cache
def groups() -> dict[str, tuple[str, ...]]:
    found = dict(word_groups(_DATA / "words.txt"))
    found.update((name, " ".join(lines).split()) for name, lines in json.loads(_SHARED.read_text("utf-8")).items())
    return {name: tuple(word.replace("_", " ") for word in words) for name, words in found.items()}


@cache
def listed(*names: str) -> tuple[str, ...]:
    """The words of these groups of `words.txt`, in order."""
    return tuple(word for name in names for word in groups()[name])


def is_month(word: str) -> bool:
    """Whether a word is a month, in full or in short: `April`, `Feb`."""
    return word.lower() in _months()


@cache
def _months() -> frozenset[str]:
    return frozenset((*listed("months", "months_short"), "sept"))


@cache
def _phrases() -> dict[str, str]:
    found = word_groups(_DATA / "alternatives.txt")
    return {name: "|".join(entry.replace("_", " ") for entry in entries) for name, entries in found.items()}


def any_of(name: str) -> str:
    """This group of `alternatives.txt` as alternatives of a regular expression, in order."""
    return _phrases()[name]


@cache
def either(*names: str) -> str:
    """The words of these groups as alternatives of a regular expression, longer words first."""
    return alternatives(listed(*names))


def alternatives(words: Iterable[str]) -> str:
    """These words as alternatives of a regular expression, longer words first."""
    return "|".join(re.escape(word) for word in sorted({*words}, key=lambda word: (-len(word), word)))


# The label of each kind in a label set.
#
# Three label sets have a table of their own (`data/labels.json`), because kinds are finer than any single set.
# The other sets get their labels through the shipped mapping from `i2b2-2014`. A kind without a label in a set gives no
# spans.


HOME: Final = "i2b2-2014"
_LABELS: Final = Path(__file__).with_name("data") / "labels.json"
MAPPINGS: Final = SHIPPED / "fixtures" / "label_sets" / "mappings.json"


@cache
def label_table(label_set: str) -> dict[RuleKind, str | None]:
    """The label code of each kind in a label set, or None. Raises BackendError (permanent) for an unknown set."""
    rows: dict[str, dict[str, str | None]] = json.loads(_LABELS.read_text(encoding="utf-8"))
    kinds = [kind for kind in RuleKind if kind is not RuleKind.TRAP]
    if all(label_set in row for row in rows.values()):
        return {kind: rows[kind][label_set] for kind in kinds}
    through = mapping_from_home(label_set)
    found: dict[RuleKind, str | None] = {}
    for kind in kinds:
        row, home = rows[kind], rows[kind][HOME]
        found[kind] = row[label_set] if label_set in row else through[home] if home else None
    return found


def mapping_from_home(label_set: str) -> dict[str, str | None]:
    """The label in a shipped label set for each label of HOME, or None. Raises BackendError (permanent)."""
    known = {m["to"]: m["labels"] for m in json.loads(MAPPINGS.read_text(encoding="utf-8")) if m["from"] == HOME}
    if label_set not in known:
        choices = ", ".join(sorted({HOME, "redactor-33", *known}))
        raise BackendError("The rules don't support the label set “{set}”. Supported: {choices}.", label_set, choices)
    return dict(known[label_set])
