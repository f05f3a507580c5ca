"""Numbers that are identifiers in Spanish text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.numbered import numbered
from models_runtime.backends.rules.rule import DIGITS, Rule, pattern

RULES: Final = (
    numbered(
        "id.employee.es", "empleado empleada funcionario funcionaria", r"[A-Z]{0,4}-?[0-9]{4,9}", RuleKind.LICENSE
    ),
    numbered(
        "id.license.es",
        "colegiado colegiada",
        r"[0-9]{2,4}(?:[/ ][0-9]{2,5}){1,2}|[0-9]{5,9}",
        RuleKind.LICENSE,
    ),
    numbered(
        "id.social.es",
        "seguridad afiliación",
        r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}",
        RuleKind.SOCIAL_SECURITY,
        middle=r"(?:[ ]social)?",
    ),
    numbered(
        "id.social.short.es",
        "n",
        r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}",
        RuleKind.SOCIAL_SECURITY,
        middle=r"\.[ ]?S\.[ ]?S\.",
        capital=True,
    ),
    numbered("id.record.es", "historia", r"[0-9]{4,9}(?:/[0-9]{2})?", RuleKind.RECORD, middle=r"(?:[ ]cl[ií]nica)?"),
    numbered("id.card.es", "tarjeta", r"[A-Z]{2,8}[0-9]{6,14}", RuleKind.HEALTH_CARD, middle=r"(?:[ ]sanitaria)"),
    numbered("id.passport.es", "pasaporte", r"[A-Z]{2,3}[0-9]{6}", RuleKind.NATIONAL),
    numbered("id.nie.es", "nie", r"[XYZ]-[0-9]{7}-?[A-Z]", RuleKind.NATIONAL),
    numbered(
        "id.case.es",
        "expediente atestado diligencias",
        r"[0-9]{2,7}/[0-9]{2,6}|[0-9]{5,12}",
        RuleKind.CASE,
        middle=r"(?:[ ](?:previas|urgentes|informativas|policiales|penales))?",
    ),
    numbered(
        "id.vehicle.es",
        "matrícula matricula placa turismo coche vehículo automóvil moto motocicleta furgoneta furgón camión "
        "ciclomotor",
        r"[A-Z]{1,2}[ \-]?[0-9]{4}[ \-]?[A-Z]{1,2}",
        RuleKind.VEHICLE,
    ),
    numbered(
        "id.record.short.es",
        "n",
        r"[0-9]{4,9}(?:/[0-9]{2})?",
        RuleKind.RECORD,
        middle=r"\.[ ]?H\.[ ]?C\.",
        capital=True,
    ),
    numbered("id.chassis.es", "bastidor", r"(?=[A-Z0-9]{0,11}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE),
    Rule(
        "id.vehicle.form.es",
        frozenset({DIGITS[4]}),
        pattern(
            r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[ \-]?(?!PCR|LDH|TSH|DXT|MCG|BMP)[BCDFGHJKLMNPRSTVWXYZ]{3})"
            r"(?![0-9A-Za-z])",
            code=RuleKind.VEHICLE,
        ),
        0.8,
        rank=40,
    ),
    # A Spanish bank account before the IBAN: bank, branch, check digits and account.
    Rule(
        "id.account.form.es",
        frozenset({DIGITS[4]}),
        pattern(
            r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[ \-][0-9]{4}[ \-][0-9]{2}[ \-][0-9]{10})(?![0-9A-Za-z])",
            code=RuleKind.ACCOUNT,
        ),
        0.9,
        rank=83,
        strong=True,
    ),
)
