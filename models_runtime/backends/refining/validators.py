"""Validators of an agent: what the rules backend knows about an annotation, by form, check digit and calendar."""

import re
from functools import lru_cache
from typing import Final

from annotations.release.rules.redaction.policy import IdentifierType as Label
from annotations.release.rules.redaction.policy import kind_of
from annotations.text.spans import Span, overlaps
from models_runtime.backends.refining.state import Check
from models_runtime.backends.rules.backend import identifiers, trap_hits
from models_runtime.backends.rules.dates import FULL
from models_runtime.backends.rules.gazetteers import SOFT, RuleKind, any_of, listed
from models_runtime.backends.rules.recasing import recased
from models_runtime.backends.rules.rule import Hit

NO_IDENTIFIER: Final = "no-identifier"
"""The check that finds that a text identifies nobody. A malformed e-mail address or date may still identify."""
_FAMILIES: Final = {"date": "date", "age": "age", "id": "identifier"}
_NAMES: Final = {kind: _FAMILIES[kind.family] for kind in RuleKind if kind.family in _FAMILIES} | {
    RuleKind.ZIP: "zip", RuleKind.PHONE: "telephone", RuleKind.FAX: "telephone", RuleKind.EMAIL: "e-mail",
    RuleKind.URL: "url", RuleKind.IP: "ip-address",
}  # fmt: skip
"""The kinds with a well-defined form. Names and places have none, so the rules' opinion about them is not a check."""
_PRESSURE: Final = re.compile(r"(?P<high>[0-9]{2,3})\s?/\s?(?P<low>[0-9]{2,3})")
_LOWEST_HIGH: Final = 60
"""The lowest systolic pressure in mmHg; a day or a month is smaller."""
# Names of persons, places and institutions are not written in lower case, unless the whole note is.
_PROPER: Final = frozenset({
    Label.NAME, Label.STAFF, Label.HOSPITAL, Label.STREET, Label.CITY, Label.REGION, Label.COUNTRY, Label.LOCATION
})  # fmt: skip
# Specialties and units in English, Spanish, Italian and German, which are not hospitals.
_UNIT: Final = re.compile(rf"(?i){any_of('validators.unit')}")
# "74 y 64 años", "12 to 17 years", "63-jährig"
_AGED: Final = re.compile(
    rf"(?i)(?:[ ]?(?:y|e|ed|and|und|a|to|o|or|,|-|bis)[ ]?[0-9]{{1,3}}){{0,2}}[ -]?(?:{any_of('validators.aged')})"
)
# "WBC 12", "PCR: 14", but "(babysitter, 19)" and "hasta los 18"
_VALUE_BEFORE: Final = re.compile(
    r"(?i)\b(?!(?:los|las|gli|ai|age|aged|edad|età|alter|fuera)\b)[^\W\d_]\w*[ ]?[:=]?[ ]{0,2}\Z"
)
# "Hierro 31"
_RESULT: Final = re.compile(
    r"[ ]?[:=]?[ ]?[0-9]+(?:[.,][0-9]+)?(?:[ ]?[%a-zµμ]+/[a-zA-Z]+)?(?=[ ]?(?:[,;)\n]|\.(?!\w)|\Z))"
)
_LONGEST: Final = 30
_WORD: Final = re.compile(r"\w+")
_EMAIL_LIKE: Final = re.compile(r"\S+@\S*|\S*@\S+")
_URL_LIKE: Final = re.compile(r"(?i)(?:https?:|ftp:|www\.)\S*")


def validate(text: str, span: Span) -> list[Check]:
    """What is known by fixed rules about a span of a note. Empty if its text has no well-defined form."""
    hits, excluded, cased = _found(text)
    near = [hit for hit in hits if overlaps(hit, span) and hit.kind not in SOFT]
    checks = [
        Check(
            _NAMES[hit.kind],
            True,
            f"The {_NAMES[hit.kind]} at {hit.start}-{hit.end} passes its check (rule {hit.rule.id}, kind {hit.kind}).",
        )
        for hit in near
        if hit.kind in _NAMES
    ]
    if checks:
        return checks
    own = text[span.start : span.end].strip()
    if FULL.fullmatch(own):
        return [Check("date", False, "It is written like a date, and no such day exists or a unit follows.")]
    pressure = _PRESSURE.fullmatch(own)
    if pressure and int(pressure["high"]) >= max(_LOWEST_HIGH, int(pressure["low"])):
        return [Check(NO_IDENTIFIER, False, "Two numbers with a slash and nothing that makes them a date.")]
    if _EMAIL_LIKE.fullmatch(own):
        return [Check("e-mail", False, "It has an @, and is not a complete e-mail address.")]
    if _URL_LIKE.fullmatch(own):
        return [Check("url", False, "It begins like a web address, and is not a complete one.")]
    if near:
        return []
    kind = kind_of(span.label)
    value = _VALUE_BEFORE.search(text[max(0, span.start - _LONGEST) : span.start])
    if kind is Label.AGE and own.isdecimal() and value and not _AGED.match(text, span.end):
        return [Check(NO_IDENTIFIER, False, "A number, and nothing near it says that it is an age.")]
    if kind in (Label.NAME, Label.STAFF) and own.lower() in listed("analytes") and _RESULT.match(text, span.end):
        return [Check(NO_IDENTIFIER, False, "A laboratory value, and its result.")]
    if kind is Label.HOSPITAL and all(map(_UNIT.fullmatch, _WORD.findall(own))):
        return [Check(NO_IDENTIFIER, False, "A specialty or a unit, without the name of a hospital.")]
    if kind in _PROPER and cased and own.islower() and not any(map(str.isdigit, own)):
        return [Check(NO_IDENTIFIER, False, "The words are in lower case, and the rules find no name in them.")]
    return [
        Check(NO_IDENTIFIER, False, "The rules know such text as no identifier: an eponym, a dose or a result.")
        for trap in excluded
        if trap.start <= span.start and span.end <= trap.end
    ][:1]


@lru_cache(maxsize=4)
def _found(text: str) -> tuple[tuple[Hit, ...], tuple[Hit, ...], bool]:
    """The hits of a note, its traps, and whether it uses lower and upper case.

    Cached: an agent asks about one note many times.
    """
    return tuple(identifiers(text)), tuple(trap_hits(text)), recased(text) == text
