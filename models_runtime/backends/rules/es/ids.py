"""Numbers that are identifiers in Spanish text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import DIGITS, Rule, pattern, words

_NO: Final = r"(?:[ ](?:n[ºo°.]{1,2}|no\.|n\.|núm\.?|num\.?|número|numero|number|id|code))?[ ]?[:.]?[ ]{0,2}"

RULES: Final = (
    Rule(
        "id.employee.es",
        words("empleado empleada funcionario funcionaria"),
        pattern(rf"(?i)\w+{_NO}(?P<code>[A-Z]{{0,4}}-?[0-9]{{4,9}})(?![0-9A-Za-z])", code=Kind.LICENSE),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.license.es",
        words("colegiado colegiada"),
        pattern(
            rf"(?i)\w+{_NO}(?P<code>[0-9]{{2,4}}(?:[/ ][0-9]{{2,5}}){{1,2}}|[0-9]{{5,9}})(?![0-9A-Za-z])",
            code=Kind.LICENSE,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.social.es",
        words("seguridad"),
        pattern(
            rf"(?i)seguridad[ ]social{_NO}(?P<code>[0-9]{{2}}[ /\-]?[0-9]{{8}}[ /\-]?[0-9]{{2}})(?![0-9A-Za-z])",
            code=Kind.SOCIAL_SECURITY,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.record.es",
        words("historia"),
        pattern(
            rf"(?i)historia(?:[ ]cl[ií]nica)?{_NO}(?P<code>[0-9]{{4,9}}(?:/[0-9]{{2}})?)(?![0-9A-Za-z])",
            code=Kind.RECORD,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.passport.es",
        words("pasaporte"),
        pattern(rf"(?i)pasaporte{_NO}(?P<code>[A-Z]{{2,3}}[0-9]{{6}})(?![0-9A-Za-z])", code=Kind.NATIONAL),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.vehicle.form.es",
        frozenset({DIGITS[4]}),
        pattern(
            r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[ \-]?(?!PCR|LDH|TSH|DXT|MCG|BMP)[BCDFGHJKLMNPRSTVWXYZ]{3})"
            r"(?![0-9A-Za-z])",
            code=Kind.VEHICLE,
        ),
        0.8,
        rank=40,
    ),
    Rule(
        "id.vehicle.es",
        words("matrícula matricula placa"),
        pattern(
            r"(?i:\w+)[ :]{1,2}(?P<code>[A-Z]{1,2}[ \-]?[0-9]{4}[ \-]?[A-Z]{1,2})(?![0-9A-Za-z])", code=Kind.VEHICLE
        ),
        0.85,
        rank=78,
        strong=True,
    ),
)
