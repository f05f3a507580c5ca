"""Numbers that are identifiers in English text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.numbered import numbered

RULES: Final = (
    numbered("id.employee.en", "employee badge", r"[A-Z]{0,4}-?[0-9]{4,9}", Kind.LICENSE),
    numbered("id.license.en", "gmc nmc pin", r"[0-9]{2}[A-Z][0-9]{4}[A-Z]|[0-9]{7}", Kind.LICENSE),
    numbered(
        "id.social.en",
        "social",
        r"[0-9]{3}[ \-]?[0-9]{2}[ \-]?[0-9]{4}",
        Kind.SOCIAL_SECURITY,
        middle=r"(?:[ ]security)?(?:[ ]number)?(?:[ ]is)?",
    ),
    numbered("id.record.en", "record chart", r"[0-9]{2,3}-[0-9]{2}-[0-9]{2}|[0-9]{6,10}", Kind.RECORD),
    numbered("id.encounter.en", "csn rx", r"[0-9]{1,2}-[0-9]{5,8}|[0-9]{6,12}", Kind.EPISODE),
    numbered(
        "id.mbi.en",
        "medicare",
        r"[1-9][A-Z][A-Z0-9][0-9]-?[A-Z][A-Z0-9][0-9]-?[A-Z]{2}[0-9]{2}",
        Kind.HEALTH_PLAN,
    ),
    numbered("id.medicaid.en", "medicaid insurance", r"[A-Z]{0,3}[0-9]{5,12}[A-Z]?", Kind.HEALTH_PLAN),
    numbered(
        "id.nino.en",
        "insurance ni nino",
        r"[A-Z]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[A-D]",
        Kind.SOCIAL_SECURITY,
    ),
    numbered("id.specimen.en", "specimen case", r"(?:19|20)?[0-9]{2}-[A-Z]{1,3}-[0-9]{3,7}", Kind.CASE),
    numbered("id.driving.en", "license", r"[A-Z]?[0-9]{3}-[0-9]{4}-[0-9]{4}|[A-Z]?[0-9]{7,9}", Kind.LICENSE),
    numbered(
        "id.plate.en",
        "plate registration",
        r"(?=[A-Z0-9 \-]{0,5}[0-9])(?=[A-Z0-9 \-]{0,5}[A-Z])[A-Z0-9]{3,4}[ \-]?[A-Z0-9]{3,4}",
        Kind.VEHICLE,
    ),
    numbered("id.vin.en", "vin", r"(?=[A-Z0-9]{0,12}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", Kind.VEHICLE),
    numbered(
        "id.account.en", "account policy", r"[A-Z]{0,3}(?:[0-9]{5,10}|[0-9]{2,4}(?:-[0-9]{2,6}){1,2})", Kind.ACCOUNT
    ),
    numbered("id.passport.en", "passport", r"[A-Z]?[0-9]{8,9}", Kind.NATIONAL),
)
