"""Rules for Italian text."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import given_names
from models_runtime.backends.rules.codes import looks_like_codice_fiscale
from models_runtime.backends.rules.gazetteers import RuleKind
from models_runtime.backends.rules.numbered import numbered
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, strong

_OF_DOCTORS: Final = "(?:[ ](?:dei|degli|al|con|il|medici|chirurghi|infermieri|psicologi|ostetriche))"
_LETTERS: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]{3}[ ]?[A-Za-z]{3}[ ]?\Z")
_REST: Final = re.compile(r"[0-9]{2}[ ]?[A-Za-z][0-9]{2}[ ]?[A-Za-z][0-9]{3}[A-Za-z](?![0-9A-Za-z])")


def _tax_code(text: str, start: int, end: int) -> Iterator[Found]:
    """A tax code in small letters or in groups, `RSS MRA 80A01 H501U`, by the digits of the year in it."""
    rest = _REST.match(text, start)
    letters = _LETTERS.search(text[max(0, start - 9) : start]) if rest else None
    if rest and letters and looks_like_codice_fiscale(letters[0] + rest[0]):
        yield start - len(letters[0]), rest.end(), RuleKind.NATIONAL


# Names of persons in Italian text.

RULES: Final = (
    *given_names(
        "it",
        pronouns=("ella",),
        described=(
            r"è[ ](?:una?[ ]|un['’])(?:donna|uomo|paziente|bambin[oa]|ragazz[oa]|signora?|lattante|anzian[oa]|"
            r"neonat[oa])(?:[ ][a-zà-ÿ]+)?[ ](?:di|che)(?![a-z])"
        ),
        figures=(
            r"(?:(?:di[ ])?anni[ ][0-9]{1,3}|(?:di[ ])?[0-9]{1,3}[ ](?:anni|aa|mesi))(?=[,.;: )\n]|"
            r"\Z)(?![ ](?:fa|di[ ](?!età)|dopo|prima|dal))"
        ),
    ),
    numbered(
        "id.employee.it",
        r"[A-Z]{0,4}-?[0-9]{4,10}",
        RuleKind.LICENSE,
        middle=r"\.?(?:[ ](?:aziendale|inps|inail|matricola))?",
    ),
    numbered(
        "id.license.it",
        r"(?:[A-Z]{2}-)?[0-9]{3,6}",
        RuleKind.LICENSE,
        middle=rf"(?:(?<=ordine){_OF_DOCTORS}{{1,5}}|(?<=albo){_OF_DOCTORS}{{0,5}}|(?<=omceo)(?:[ ](?:di[ ])?[a-z]+)?)",
    ),
    numbered(
        "id.record.it", r"[0-9]{4,10}(?:/[0-9]{3,6})?|[0-9]{2}/[0-9]{4,7}", RuleKind.RECORD, middle=r"(?:[ ]clinica)?"
    ),
    numbered(
        "id.code.it",
        r"[A-Z]{0,3}[0-9]{6,16}",
        RuleKind.RECORD,
        middle=r"\.?[ ](?:paziente|sanitario|assistito|stp|eni|regionale)",
    ),
    numbered(
        "id.national.it",
        r"[A-Z][A-Z0-9][ ]?[0-9]{5,8}[A-Z]{0,2}|U1[A-Z0-9]{7}[A-Z]",
        RuleKind.NATIONAL,
        middle=r"(?:[ ](?:(?:di[ ]|d['’])(?:identità|guida|soggiorno|riconoscimento)|italiano|(?:cat\.?[ ])?[AB]))?",
    ),
    numbered(
        "id.national.short.it",
        r"[A-Z]{2}[ ]?[0-9]{5,7}(?:[ ]?[A-Z]{2})?",
        RuleKind.NATIONAL,
        middle=r"(?<=C\.I)(?:\.E)?\.?",
    ),
    numbered(
        "id.card.it", r"8038(?:[ ]?[0-9]){16}", RuleKind.HEALTH_CARD, middle=r"(?:[ ](?:sanitaria|team|europea))*"
    ),
    numbered("id.vehicle.it", r"[A-Z]{2}[ ]?(?:[0-9]{3}[ ]?[A-Z]{2}|[0-9]{5})", RuleKind.VEHICLE),
    numbered("id.position.it", r"[0-9]{8,12}", RuleKind.CASE, middle=r"[ ](?:inps|inail)"),
    numbered("id.plan.it", r"[A-Z]{0,3}[0-9]{2,10}(?:[/\-][0-9]{3,9})?", RuleKind.HEALTH_PLAN, triggers="polizza"),
    numbered("id.chassis.it", r"(?=[A-Z0-9]{0,11}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE, triggers="telaio"),
    numbered(
        "id.vat.it",
        r"(?:IT)?[0-9]{11}",
        RuleKind.NATIONAL,
        middle=r"(?:(?:(?<=partita)|(?<=vat))(?:[ ]I\.?V\.?A\.?)?|(?<=p)\.?[ ]?I\.?(?:V\.?A\.?)?)",
        capital=True,
    ),
    strong("id.national.cf.it", _tax_code, 85, (DIGITS[2],)),
    # The number of an electronic prescription.
    strong(
        "id.prescription.form.it",
        pattern(r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[A-Z][ ]?[0-9]{10})(?![0-9A-Za-z])", code=RuleKind.CASE),
        78,
    ),
    Rule(
        "id.vehicle.form.it",
        pattern(
            r"(?<![0-9A-Za-z.\-/])(?P<code>[A-Z]{2}[ ]?[0-9]{3}[ ]?[A-Z]{2})(?![0-9A-Za-z])", code=RuleKind.VEHICLE
        ),
        50,
        capital=True,
    ),
)
