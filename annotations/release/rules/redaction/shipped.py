"""Shipped policies: an action for every kind of identifier.

Sources: 45 CFR 164.514(b)(2) (Safe Harbor) and 164.514(e)(2) (limited data set), both of the HIPAA Privacy Rule;
Regulation (EU) 2016/679 (GDPR), article 4(5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action, LabelRule, PolicyError


@dataclass(frozen=True, slots=True)
class ShippedPolicy:
    """A policy that every project can use without writing its rules. `actions` has all kinds."""

    slug: str
    name: str
    description: str
    actions: Mapping[IdentifierType, Action]


def _all(action: Action, **but: Action) -> dict[IdentifierType, Action]:
    """The same action for every kind, but for those named."""
    return {kind: but.get(kind.name, action) for kind in IdentifierType}


# 164.514(b)(2)(i) lists identifiers of the individual and of relatives, employers and household members: names (A), all
# geographic subdivisions smaller than a state except the first three digits of most ZIP codes (B), all elements of
# dates except the year, and ages over 89 (C), numbers and addresses (D to P), photographs (Q), and any other unique
# number, characteristic or code (R). Countries, states, sex, ethnicity and professions are not in the list and stay. A
# mixed place is generalized to its state. Hospitals and organizations tell where someone lives or works, so they are
# masked, and so are staff, and words for relatives, whose spans often hold names. "Other" spans count as (R).
_SAFE_HARBOR: Final = _all(
    Action.MASK,
    DATE=Action.GENERALIZE,
    AGE=Action.GENERALIZE,
    ZIP=Action.GENERALIZE,
    LOCATION=Action.GENERALIZE,
    REGION=Action.KEEP,
    COUNTRY=Action.KEEP,
    PROFESSION=Action.KEEP,
    SEX=Action.KEEP,
    ETHNICITY=Action.KEEP,
)

# 164.514(e)(2) excludes 16 direct identifiers of the individual and of relatives, employers and household members.
# Dates, ages, and "town or city, State, and zip code" stay. A mixed place may be a street, so it is generalized.
_LIMITED: Final = _all(
    Action.MASK,
    DATE=Action.KEEP,
    AGE=Action.KEEP,
    CITY=Action.KEEP,
    ZIP=Action.KEEP,
    REGION=Action.KEEP,
    COUNTRY=Action.KEEP,
    LOCATION=Action.GENERALIZE,
    PROFESSION=Action.KEEP,
    SEX=Action.KEEP,
    ETHNICITY=Action.KEEP,
)

# Words for relatives, ethnicity and other characteristics have no surrogate that would be true and harmless. Countries
# stay: they are not in the list of 164.514(b)(2)(i), notes of one hospital name few of them, and beside surrogates of
# other countries an unlabeled mention of the own one would stand out (an attacker found 28 of 32).
_SURROGATE: Final = _all(
    Action.SURROGATE,
    DATE=Action.SHIFT,
    AGE=Action.GENERALIZE,
    COUNTRY=Action.KEEP,
    SEX=Action.KEEP,
    FAMILY=Action.MASK,
    ETHNICITY=Action.MASK,
    OTHER=Action.MASK,
    BIOMETRIC=Action.MASK,
)

# Article 4(5): the data can no longer be attributed to a person without additional information, which is the project's
# key. Equal identifiers stay equal, so that records can be linked.
_HASH: Final = _all(
    Action.HASH,
    DATE=Action.SHIFT,
    AGE=Action.GENERALIZE,
    REGION=Action.KEEP,
    COUNTRY=Action.KEEP,
    SEX=Action.KEEP,
)

SHIPPED: Final[dict[str, ShippedPolicy]] = {
    policy.slug: policy
    for policy in (
        ShippedPolicy(
            "mask", "Publication mask", "Every labeled span becomes the placeholder of its label.", _all(Action.MASK)
        ),
        ShippedPolicy(
            "safe-harbor",
            "HIPAA Safe Harbor",
            "Years, ages up to 89, states, countries, three digits of ZIP codes, professions, sex and ethnicity stay. "
            "All else is masked.",
            _SAFE_HARBOR,
        ),
        ShippedPolicy(
            "limited",
            "HIPAA limited data set",
            "Dates, ages, cities, states, countries, ZIP codes, professions, sex and ethnicity stay. All else is "
            "masked. A data use agreement is required.",
            _LIMITED,
        ),
        ShippedPolicy(
            "surrogate",
            "Surrogates",
            "Realistic replacements, the same for an entity in all notes of a patient. Dates are shifted; ages up to "
            "89, countries and sex stay.",
            _SURROGATE,
        ),
        ShippedPolicy(
            "hash",
            "GDPR pseudonymization",
            "Identifiers become keyed hashes, the same for equal identifiers. Dates are shifted; ages up to 89, "
            "states, countries and sex stay.",
            _HASH,
        ),
        ShippedPolicy("remove", "Remove", "Every labeled span is removed.", _all(Action.REMOVE)),
    )
}
"""The shipped policies by short name, in the order in which pages offer them."""


def rules_for(slug: str, kinds: Mapping[str, IdentifierType | None]) -> dict[str, LabelRule]:
    """The rules of a shipped policy for labels with these kinds.

    Raises PolicyError for an unknown policy, and for labels without a kind, which it names.
    """
    if slug not in SHIPPED:
        raise PolicyError(f"There is no shipped policy “{slug}”. Choose one of: {', '.join(SHIPPED)}.")
    unmapped = sorted(code for code, kind in kinds.items() if kind is None)
    if unmapped:
        raise PolicyError(f"These labels have no kind: {', '.join(unmapped)}. Choose a kind for each of them.")
    actions = SHIPPED[slug].actions
    return {code: LabelRule(kind, actions[kind]) for code, kind in kinds.items() if kind is not None}
