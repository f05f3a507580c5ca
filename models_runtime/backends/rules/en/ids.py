"""Numbers that are identifiers in English text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.numbered import numbered

# The last groups are not a year or a count: "account 7731 204 418", but "account 48210 120 times".
_ACCOUNT: Final = (
    "[A-Z]{0,3}(?:[0-9]{3,10}|[0-9]{2}-[0-9]{2,6})(?:-[0-9]{2,6}){0,2}"
    "(?:(?:[ ](?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]{3,8}){1,3}(?=[.,;)\n]|\\Z))?"
)

RULES: Final = (
    numbered("id.employee.en", "employee badge", r"[A-Z]{0,4}-?[0-9]{4,9}", RuleKind.LICENSE),
    numbered("id.license.en", "gmc nmc pin", r"[0-9]{2}[A-Z][0-9]{4}[A-Z]|[0-9]{7}", RuleKind.LICENSE),
    numbered(
        "id.social.en",
        "social",
        r"[0-9]{3}[ \-]?[0-9]{2}[ \-]?[0-9]{4}",
        RuleKind.SOCIAL_SECURITY,
        middle=r"(?:[ ]security)?(?:[ ]number)?(?:[ ]is)?",
    ),
    numbered("id.record.en", "record chart rec", r"[0-9]{2,3}-[0-9]{2}-[0-9]{2}|[0-9]{6,10}", RuleKind.RECORD),
    numbered("id.encounter.en", "csn rx", r"[0-9]{1,2}-[0-9]{5,8}|[0-9]{6,12}", RuleKind.EPISODE),
    numbered(
        "id.mbi.en",
        "medicare mbi",
        r"[1-9][A-Z][A-Z0-9][0-9][ \-]?[A-Z][A-Z0-9][0-9][ \-]?[A-Z]{2}[0-9]{2}",
        RuleKind.HEALTH_PLAN,
    ),
    numbered("id.medicaid.en", "medicaid", r"[A-Z]{0,3}[0-9]{5,12}[A-Z]?", RuleKind.HEALTH_PLAN),
    # Two letters, six digits and a letter after "insurance" are a British number of national insurance.
    numbered(
        "id.insurance.en",
        "insurance",
        r"(?![A-Z]{2}[0-9]{6}[A-D](?![0-9A-Z]))[A-Z]{0,3}[0-9]{5,12}[A-Z]?",
        RuleKind.HEALTH_PLAN,
    ),
    numbered(
        "id.nino.en",
        "insurance ni nino",
        r"[A-Za-z]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[A-Da-d]",
        RuleKind.SOCIAL_SECURITY,
    ),
    numbered("id.specimen.en", "specimen case", r"(?:19|20)?[0-9]{2}-[A-Z]{1,3}-[0-9]{3,7}", RuleKind.CASE),
    numbered("id.driving.en", "license", r"[A-Z]?[0-9]{3}-[0-9]{4}-[0-9]{4}|[A-Z]?[0-9]{7,9}", RuleKind.LICENSE),
    numbered(
        "id.plate.en",
        "plate registration",
        # "plate 10x40mm" is a part of an operation.
        r"(?![0-9x]{1,6}[cm]m)(?=[A-Z0-9 \-]{0,5}[0-9])(?=[A-Z0-9 \-]{0,5}[A-Z])[A-Z0-9]{3,4}[ \-]?[A-Z0-9]{3,4}",
        RuleKind.VEHICLE,
    ),
    numbered("id.vin.en", "vin", r"(?=[A-Z0-9]{0,12}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE),
    numbered("id.account.en", "account", _ACCOUNT, RuleKind.ACCOUNT),
    # "Hospital policy 2019" has a year, and no number of an insurance.
    numbered("id.policy.en", "policy", rf"(?!(?:19|20)[0-9]{{2}}(?![0-9\-])){_ACCOUNT}", RuleKind.ACCOUNT),
    numbered("id.passport.en", "passport", r"[A-Z]?[0-9]{8,9}", RuleKind.NATIONAL),
)
