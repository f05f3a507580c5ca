"""Rules for Spanish text."""

from typing import Final

from models_runtime.backends.rules.bare import given_names
from models_runtime.backends.rules.gazetteers import RuleKind
from models_runtime.backends.rules.numbered import numbered
from models_runtime.backends.rules.rule import Rule, pattern, strong

# Names of persons in Spanish text.

RULES: Final = (
    *given_names(
        "es",
        pronouns=("ella",),
        described=(
            r"(?:es[ ](?:un|una)[ ](?:varón|mujer|hombre|niñ[oa]|paciente|chic[oa]|joven|señora?|lactante|"
            r"ancian[oa])(?:[ ][a-z]+)?[ ]de|de)[ ](?:[0-9]{1,3}|[a-z]{4,12})[ ](?:años|meses)(?![a-z])"
            r"(?!/|[ ](?:de[ ](?:evol|segui|antig|durac|trat|uso)|después))"
        ),
        figures=r"[0-9]{1,3}[ ](?:años|meses)(?=[,.;: )\n]|\Z)(?![ ](?:de[ ](?!edad)|después|antes|tras))",
    ),
    numbered("id.employee.es", r"[A-Z]{0,4}-?[0-9]{4,9}", RuleKind.LICENSE),
    numbered("id.license.es", r"[0-9]{2,4}(?:[/ ][0-9]{2,5}){1,2}|[0-9]{5,9}", RuleKind.LICENSE),
    numbered(
        "id.social.es", r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}", RuleKind.SOCIAL_SECURITY, middle=r"(?:[ ]social)?"
    ),
    numbered(
        "id.social.short.es",
        r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}",
        RuleKind.SOCIAL_SECURITY,
        middle=r"\.[ ]?S\.[ ]?S\.",
        capital=True,
    ),
    numbered("id.record.es", r"[0-9]{4,9}(?:/[0-9]{2})?", RuleKind.RECORD, middle=r"(?:[ ]cl[ií]nica)?"),
    numbered("id.card.es", r"[A-Z]{2,8}[0-9]{6,14}", RuleKind.HEALTH_CARD, middle=r"(?:[ ]sanitaria)"),
    numbered("id.passport.es", r"[A-Z]{2,3}[0-9]{6}", RuleKind.NATIONAL, triggers="pasaporte"),
    numbered("id.nie.es", r"[XYZ]-[0-9]{7}-?[A-Z]", RuleKind.NATIONAL, triggers="nie"),
    numbered(
        "id.case.es",
        r"[0-9]{2,7}/[0-9]{2,6}|[0-9]{5,12}",
        RuleKind.CASE,
        middle=r"(?:[ ](?:previas|urgentes|informativas|policiales|penales))?",
    ),
    numbered("id.vehicle.es", r"[A-Z]{1,2}[ \-]?[0-9]{4}[ \-]?[A-Z]{1,2}", RuleKind.VEHICLE),
    numbered(
        "id.record.short.es", r"[0-9]{4,9}(?:/[0-9]{2})?", RuleKind.RECORD, middle=r"\.[ ]?H\.[ ]?C\.", capital=True
    ),
    numbered("id.chassis.es", r"(?=[A-Z0-9]{0,11}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE, triggers="bastidor"),
    Rule(
        "id.vehicle.form.es",
        pattern(
            r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[ \-]?(?!PCR|LDH|TSH|DXT|MCG|BMP)[BCDFGHJKLMNPRSTVWXYZ]{3})"
            r"(?![0-9A-Za-z])",
            code=RuleKind.VEHICLE,
        ),
        40,
    ),
    # A Spanish bank account before the IBAN: bank, branch, check digits and account.
    strong(
        "id.account.form.es",
        pattern(
            r"(?<![0-9A-Za-z.,\-/])(?P<code>[0-9]{4}[ \-][0-9]{4}[ \-][0-9]{2}[ \-][0-9]{10})(?![0-9A-Za-z])",
            code=RuleKind.ACCOUNT,
        ),
        83,
    ),
)
