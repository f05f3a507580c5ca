"""Validators of an agent: what the rules backend knows about an annotation, by form, check digit and calendar."""

import re
from functools import lru_cache
from typing import Final

from annotations.domain.refining.state import Check
from annotations.domain.spans import Span, overlaps
from models_runtime.backends.rules.dates import FULL
from models_runtime.backends.rules.identifiers import identifiers, traps
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import Hit

_NAMES: Final = {
    Kind.DATE: "date", Kind.BIRTH_DATE: "date", Kind.YEAR: "date", Kind.YEAR_WORDS: "date", Kind.MONTH: "date",
    Kind.LOOSE_DATE: "date", Kind.AGE: "age", Kind.AGE_UNIT: "age", Kind.ZIP: "zip", Kind.PHONE: "telephone",
    Kind.FAX: "telephone", Kind.EMAIL: "e-mail", Kind.URL: "url", Kind.IP: "ip-address", Kind.RECORD: "identifier",
    Kind.NATIONAL: "identifier", Kind.SOCIAL_SECURITY: "identifier", Kind.HEALTH_CARD: "identifier",
    Kind.HEALTH_PLAN: "identifier", Kind.LICENSE: "identifier", Kind.EPISODE: "identifier", Kind.CASE: "identifier",
    Kind.DEVICE: "identifier", Kind.VEHICLE: "identifier", Kind.ACCOUNT: "identifier",
}  # fmt: skip
"""The kinds with a well-defined form. Names and places have none, so the rules' opinion about them is no check."""
_PRESSURE: Final = re.compile(r"[0-9]{2,3}\s?/\s?[0-9]{2,3}")
_EMAIL_LIKE: Final = re.compile(r"\S+@\S*|\S*@\S+")
_URL_LIKE: Final = re.compile(r"(?i)(?:https?:|ftp:|www\.)\S*")


def validate(text: str, span: Span) -> list[Check]:
    """What is known by fixed rules about a span of a note. Empty if its text has no well-defined form."""
    hits, excluded = _found(text)
    checks = [
        Check(
            _NAMES[hit.kind],
            True,
            f"The {_NAMES[hit.kind]} at {hit.start}-{hit.end} passes its check (rule {hit.rule.id}, kind {hit.kind}).",
        )
        for hit in hits
        if overlaps(hit, span)
    ]
    if checks:
        return checks
    own = text[span.start : span.end].strip()
    if FULL.fullmatch(own):
        return [Check("date", False, "It is written like a date, and no such day exists or a unit follows.")]
    if _PRESSURE.fullmatch(own):
        return [Check("date", False, "Two numbers with a slash and nothing that makes them a date.")]
    if _EMAIL_LIKE.fullmatch(own):
        return [Check("e-mail", False, "It has an @, and is not a complete e-mail address.")]
    if _URL_LIKE.fullmatch(own):
        return [Check("url", False, "It begins like a web address, and is not a complete one.")]
    return [
        Check("no-identifier", False, "The rules know such text as no identifier: an eponym, a dose or a result.")
        for trap in excluded
        if trap.start <= span.start and span.end <= trap.end
    ][:1]


@lru_cache(maxsize=4)
def _found(text: str) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """The hits of a note with a checked form, and its traps. Cached: an agent asks about one note many times."""
    return tuple(hit for hit in identifiers(text) if hit.kind in _NAMES), tuple(traps(text))
