"""Rules for English text."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN, given_names, is_word
from models_runtime.backends.rules.gazetteers import RuleKind, either, listed, open_given, places, word_set
from models_runtime.backends.rules.numbered import numbered
from models_runtime.backends.rules.phrases import LETTER, SMALL_LETTER, UP, is_clinical_word
from models_runtime.backends.rules.rule import Found, Rule
from models_runtime.backends.rules.running import NO_NAMES, SURE

# The last groups are not a year or a count: "account 7731 204 418", but "account 48210 120 times".
_ACCOUNT: Final = (
    "[A-Z]{0,3}(?:[0-9]{3,10}|[0-9]{2}-[0-9]{2,6})(?:-[0-9]{2,6}){0,2}"
    "(?:(?:[ ](?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]{3,8}){1,3}(?=[.,;)\n]|\\Z))?"
)


# Names of persons in English text.


_SURNAME: Final = re.compile(rf"[ ](?P<name>[{UP}]{SMALL_LETTER}{{2,}})(?=['’]s|[ ]{SMALL_LETTER}|[.,;:!?)\n]|\Z)")
_ACTS: Final = re.compile(rf"[ ](?:{either('en.does')})(?!{LETTER})")
_LED: Final = re.compile(r"(?<!\w)(?:(?i:with|by|saw|met|told|asked|called|named)|[A-Z][a-z]+ [A-Z][a-z]+ and)[ ]\Z")
_NO_SURNAMES: Final = NO_NAMES.union(
    word_set("eponyms"), listed("common_surnames", "eponym_tails", "months", "weekdays_en", "services", "place_tails")
)


def _like_words(text: str, start: int, end: int) -> Iterator[Found]:
    """A full name whose given name is a word: `Hope Price called`, `came with Grace Rich`."""
    surname = _SURNAME.match(text, end) if is_word(text, start, end) else None
    if surname is None or surname["name"].lower() in _NO_SURNAMES or is_clinical_word(surname["name"]):
        return
    led = text[start:end] not in ("Will", "May") and _LED.search(text, max(0, start - 32), start)
    if led or _ACTS.match(text, surname.end()):
        yield start, surname.end(), RuleKind.PERSON


_LIKE_WORDS: Final = (
    (word_set("given_en") | word_set("more_given_en") | open_given("en") | {"will", "may", *listed("everyday_names")})
    & GIVEN
) - SURE.union(places())

RULES: Final = (
    Rule("name.word.en", _like_words, 44, _LIKE_WORDS, capital=True),
    *given_names(
        "en",
        described=(
            r"(?:is|was)?[ ]?(?:an?|now)[ ](?:[a-z\-]+[ ]){0,2}[0-9]{1,3}[\- ](?:year|month|week|"
            r"day)s?[\- ]old(?![a-z])"
        ),
        figures=r"[1-9][0-9]?(?:,|[ ](?:years|yrs)(?![a-z]))(?![0-9])",
    ),
    numbered("id.employee.en", r"[A-Z]{0,4}-?[0-9]{4,9}", RuleKind.LICENSE, triggers="employee badge"),
    numbered("id.license.en", r"[0-9]{2}[A-Z][0-9]{4}[A-Z]|[0-9]{7}", RuleKind.LICENSE, triggers="gmc nmc pin"),
    numbered(
        "id.social.en",
        r"[0-9]{3}[ \-]?[0-9]{2}[ \-]?[0-9]{4}",
        RuleKind.SOCIAL_SECURITY,
        middle=r"(?:[ ]security)?(?:[ ]number)?(?:[ ]is)?",
    ),
    numbered("id.record.en", r"[0-9]{2,3}-[0-9]{2}-[0-9]{2}|[0-9]{6,10}", RuleKind.RECORD, triggers="record chart rec"),
    numbered("id.encounter.en", r"[0-9]{1,2}-[0-9]{5,8}|[0-9]{6,12}", RuleKind.EPISODE, triggers="csn rx"),
    numbered(
        "id.mbi.en", r"[1-9][A-Z][A-Z0-9][0-9][ \-]?[A-Z][A-Z0-9][0-9][ \-]?[A-Z]{2}[0-9]{2}", RuleKind.HEALTH_PLAN
    ),
    numbered("id.medicaid.en", r"[A-Z]{0,3}[0-9]{5,12}[A-Z]?", RuleKind.HEALTH_PLAN, triggers="medicaid"),
    # Two letters, six digits and a letter after "insurance" are a British number of national insurance.
    numbered(
        "id.insurance.en", r"(?![A-Z]{2}[0-9]{6}[A-D](?![0-9A-Z]))[A-Z]{0,3}[0-9]{5,12}[A-Z]?", RuleKind.HEALTH_PLAN
    ),
    numbered("id.nino.en", r"[A-Za-z]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[A-Da-d]", RuleKind.SOCIAL_SECURITY),
    numbered("id.specimen.en", r"(?:19|20)?[0-9]{2}-[A-Z]{1,3}-[0-9]{3,7}", RuleKind.CASE, triggers="specimen case"),
    numbered("id.driving.en", r"[A-Z]?[0-9]{3}-[0-9]{4}-[0-9]{4}|[A-Z]?[0-9]{7,9}", RuleKind.LICENSE),
    numbered(
        "id.plate.en",
        r"(?![0-9x]{1,6}[cm]m)(?=[A-Z0-9 \-]{0,5}[0-9])(?=[A-Z0-9 \-]{0,5}[A-Z])[A-Z0-9]{3,4}[ \-]?[A-Z0-9]{3,4}",
        RuleKind.VEHICLE,
    ),
    numbered("id.vin.en", r"(?=[A-Z0-9]{0,12}[0-9]{5})[A-HJ-NPR-Z0-9]{17}", RuleKind.VEHICLE, triggers="vin"),
    numbered("id.account.en", _ACCOUNT, RuleKind.ACCOUNT, triggers="account"),
    # "Hospital policy 2019" has a year, and no number of an insurance.
    numbered("id.policy.en", rf"(?!(?:19|20)[0-9]{{2}}(?![0-9\-])){_ACCOUNT}", RuleKind.ACCOUNT, triggers="policy"),
    numbered("id.passport.en", r"[A-Z]?[0-9]{8,9}", RuleKind.NATIONAL, triggers="passport"),
)
