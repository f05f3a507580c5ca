"""Numbers that are identifiers in Italian text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import Rule, pattern, words

_NO: Final = r"(?:[ ](?:n[ºo°.]{1,2}|no\.|n\.|núm\.?|num\.?|número|numero|number|id|code))?[ ]?[:.]?[ ]{0,2}"

RULES: Final = (
    Rule(
        "id.employee.it",
        words("dipendente matricola"),
        pattern(
            rf"(?i)\w+(?:[ ]aziendale)?{_NO}(?P<code>[A-Z]{{0,4}}-?[0-9]{{4,9}})(?![0-9A-Za-z])", code=Kind.LICENSE
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.license.it",
        words("albo ordine"),
        pattern(
            rf"(?i)\w+(?:[ ](?:dei|al|medici))*{_NO}(?P<code>(?:[A-Z]{{2}}-)?[0-9]{{3,6}})(?![0-9A-Za-z])",
            code=Kind.LICENSE,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.record.it",
        words("cartella nosologico"),
        pattern(
            rf"(?i)\w+(?:[ ]clinica)?{_NO}(?P<code>[0-9]{{4,10}}(?:/[0-9]{{3,6}})?)(?![0-9A-Za-z])", code=Kind.RECORD
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.national.it",
        words("carta documento passaporto patente"),
        pattern(
            rf"(?i)\w+(?:[ ](?:di[ ]|d['’])(?:identità|guida))?{_NO}"
            rf"(?P<code>[A-Z][A-Z0-9][0-9]{{5,7}}[A-Z]{{0,2}})(?![0-9A-Za-z])",
            code=Kind.NATIONAL,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.vehicle.form.it",
        frozenset(a + b for a in "abcdefghjklmnprstvwxyz" for b in "abcdefghjklmnprstvwxyz"),
        pattern(r"(?<![0-9A-Za-z.\-/])(?P<code>[A-Z]{2}[ ]?[0-9]{3}[ ]?[A-Z]{2})(?![0-9A-Za-z])", code=Kind.VEHICLE),
        0.85,
        rank=50,
        capital=True,
    ),
)
