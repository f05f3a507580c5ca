"""Numbers that are identifiers in English text, by their form and the words before them."""

from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import Rule, pattern, words

_NO: Final = r"(?:[ ](?:n[ºo°.]{1,2}|no\.|n\.|núm\.?|num\.?|número|numero|number|id|code))?[ ]?[:.]?[ ]{0,2}"

RULES: Final = (
    Rule(
        "id.employee.en",
        words("employee badge"),
        pattern(rf"(?i)\w+{_NO}(?P<code>[A-Z]{{0,4}}-?[0-9]{{4,9}})(?![0-9A-Za-z])", code=Kind.LICENSE),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.social.en",
        words("social"),
        pattern(
            rf"(?i)social(?:[ ]security)?{_NO}(?:is[ ])?"
            rf"(?P<code>[0-9]{{3}}[ \-]?[0-9]{{2}}[ \-]?[0-9]{{4}})(?![0-9A-Za-z])",
            code=Kind.SOCIAL_SECURITY,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.record.en",
        words("record chart"),
        pattern(
            rf"(?i)\w+{_NO}(?P<code>[0-9]{{2,3}}-[0-9]{{2}}-[0-9]{{2}}|[0-9]{{6,10}})(?![0-9A-Za-z])", code=Kind.RECORD
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.mbi.en",
        words("medicare"),
        pattern(
            rf"(?i)medicare{_NO}(?P<code>[1-9][A-Z][A-Z0-9][0-9]-?[A-Z][A-Z0-9][0-9]-?[A-Z]{{2}}[0-9]{{2}})(?![0-9A-Za-z])",
            code=Kind.HEALTH_PLAN,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.nino.en",
        words("insurance ni"),
        pattern(
            rf"(?i)\w+{_NO}(?P<code>[A-Z]{{2}}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[0-9]{{2}}[ ]?[A-D])(?![0-9A-Za-z])",
            code=Kind.SOCIAL_SECURITY,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.driving.en",
        words("license"),
        pattern(
            rf"(?i)license{_NO}(?P<code>[A-Z]?[0-9]{{3}}-[0-9]{{4}}-[0-9]{{4}}|[A-Z]?[0-9]{{7,9}})(?![0-9A-Za-z])",
            code=Kind.LICENSE,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.plate.en",
        words("plate"),
        pattern(
            rf"(?i)plate{_NO}(?P<code>(?=[A-Z0-9 \-]{{0,5}}[0-9])(?=[A-Z0-9 "
            rf"\-]{{0,5}}[A-Z])[A-Z0-9]{{3,4}}[ \-]?[A-Z0-9]{{3,4}})(?![0-9A-Za-z])",
            code=Kind.VEHICLE,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.account.en",
        words("account policy"),
        pattern(
            rf"(?i)\w+{_NO}(?P<code>[A-Z]{{0,3}}[0-9]{{3,10}}(?:-[0-9]{{2,6}}){{0,2}})(?![0-9A-Za-z])",
            code=Kind.ACCOUNT,
        ),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.passport.en",
        words("passport"),
        pattern(rf"(?i)passport{_NO}(?P<code>[A-Z]?[0-9]{{8,9}})(?![0-9A-Za-z])", code=Kind.NATIONAL),
        0.85,
        rank=78,
        strong=True,
    ),
)
