"""Numbers that are identifiers in Italian text, by their form and the words before them."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.checks import looks_like_codice_fiscale
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.numbered import numbered
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern

_OF_DOCTORS: Final = "(?:[ ](?:dei|degli|al|con|il|medici|chirurghi|infermieri|psicologi|ostetriche))"
_LETTERS: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]{3}[ ]?[A-Za-z]{3}[ ]?\Z")
_REST: Final = re.compile(r"[0-9]{2}[ ]?[A-Za-z][0-9]{2}[ ]?[A-Za-z][0-9]{3}[A-Za-z](?![0-9A-Za-z])")


def _tax_code(text: str, start: int, end: int) -> Iterator[Found]:
    """A tax code in small letters or in groups, `RSS MRA 80A01 H501U`, by the digits of the year in it."""
    rest = _REST.match(text, start)
    letters = _LETTERS.search(text[max(0, start - 9) : start]) if rest else None
    if rest and letters and looks_like_codice_fiscale(letters[0] + rest[0]):
        yield start - len(letters[0]), rest.end(), RuleKind.NATIONAL


RULES: Final = (
    numbered(
        "id.employee.it",
        "dipendente matricola matr tesserino badge",
        r"[A-Z]{0,4}-?[0-9]{4,10}",
        RuleKind.LICENSE,
        middle=r"\.?(?:[ ](?:aziendale|inps|inail|matricola))?",
    ),
    numbered(
        "id.license.it",
        "albo ordine omceo",
        r"(?:[A-Z]{2}-)?[0-9]{3,6}",
        RuleKind.LICENSE,
        middle=rf"(?:(?<=ordine){_OF_DOCTORS}{{1,5}}|(?<=albo){_OF_DOCTORS}{{0,5}}|(?<=omceo)(?:[ ](?:di[ ])?[a-z]+)?)",
    ),
    numbered(
        "id.record.it",
        "cartella nosologico",
        r"[0-9]{4,10}(?:/[0-9]{3,6})?|[0-9]{2}/[0-9]{4,7}",
        RuleKind.RECORD,
        middle=r"(?:[ ]clinica)?",
    ),
    numbered(
        "id.code.it",
        "codice cod",
        r"[A-Z]{0,3}[0-9]{6,16}",
        RuleKind.RECORD,
        middle=r"\.?[ ](?:paziente|sanitario|assistito|stp|eni|regionale)",
    ),
    numbered(
        "id.national.it",
        "carta documento passaporto patente permesso",
        r"[A-Z][A-Z0-9][ ]?[0-9]{5,8}[A-Z]{0,2}|U1[A-Z0-9]{7}[A-Z]",
        RuleKind.NATIONAL,
        middle=r"(?:[ ](?:(?:di[ ]|d['’])(?:identità|guida|soggiorno|riconoscimento)|italiano|(?:cat\.?[ ])?[AB]))?",
    ),
    numbered(
        "id.national.short.it",
        "i",
        r"[A-Z]{2}[ ]?[0-9]{5,7}(?:[ ]?[A-Z]{2})?",
        RuleKind.NATIONAL,
        middle=r"(?<=C\.I)(?:\.E)?\.?",
    ),
    numbered(
        "id.card.it",
        "tessera ts team",
        r"8038(?:[ ]?[0-9]){16}",
        RuleKind.HEALTH_CARD,
        middle=r"(?:[ ](?:sanitaria|team|europea))*",
    ),
    numbered(
        "id.vehicle.it",
        "targa targato targata",
        r"[A-Z]{2}[ ]?(?:[0-9]{3}[ ]?[A-Z]{2}|[0-9]{5})",
        RuleKind.VEHICLE,
    ),
    numbered("id.position.it", "posizione pratica", r"[0-9]{8,12}", RuleKind.CASE, middle=r"[ ](?:inps|inail)"),
    numbered("id.plan.it", "polizza", r"[A-Z]{0,3}[0-9]{2,10}(?:[/\-][0-9]{3,9})?", RuleKind.HEALTH_PLAN),
    numbered("id.chassis.it", "telaio", r"(?=[A-Z0-9]{0,11}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE),
    numbered(
        "id.vat.it",
        "p partita vat",
        r"(?:IT)?[0-9]{11}",
        RuleKind.NATIONAL,
        middle=r"(?:(?:(?<=partita)|(?<=vat))(?:[ ]I\.?V\.?A\.?)?|(?<=p)\.?[ ]?I\.?(?:V\.?A\.?)?)",
        capital=True,
    ),
    Rule("id.national.cf.it", frozenset({DIGITS[2]}), _tax_code, 0.98, rank=85, strong=True),
    # The number of an electronic prescription.
    Rule(
        "id.prescription.form.it",
        frozenset({DIGITS[4]}),
        pattern(r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[A-Z][ ]?[0-9]{10})(?![0-9A-Za-z])", code=RuleKind.CASE),
        0.95,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.vehicle.form.it",
        frozenset(a + b for a in "abcdefghjklmnprstvwxyz" for b in "abcdefghjklmnprstvwxyz"),
        pattern(
            r"(?<![0-9A-Za-z.\-/])(?P<code>[A-Z]{2}[ ]?[0-9]{3}[ ]?[A-Z]{2})(?![0-9A-Za-z])", code=RuleKind.VEHICLE
        ),
        0.85,
        rank=50,
        capital=True,
    ),
)
