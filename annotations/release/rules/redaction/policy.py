"""Policies: an action for every label."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from annotations.text.identifiers import IdentifierType as IdentifierType
from annotations.text.identifiers import IdentifierType as Kind
from annotations.text.wording import NamedValue, WordedError, gettext_noop
from annotations.text.wording import gettext as _

PEOPLE: Final = frozenset({Kind.NAME, Kind.STAFF})
TELEPHONES: Final = frozenset({Kind.PHONE, Kind.FAX})
INSTITUTIONS: Final = frozenset({Kind.HOSPITAL, Kind.ORGANIZATION})
REGIONS: Final = frozenset({Kind.CITY, Kind.REGION, Kind.COUNTRY, Kind.LOCATION})
PLACES: Final = REGIONS | {Kind.STREET, Kind.ZIP}
CODES: Final = frozenset(
    {Kind.NATIONAL_ID, Kind.RECORD, Kind.HEALTH_PLAN, Kind.ACCOUNT, Kind.LICENSE, Kind.VEHICLE, Kind.DEVICE, Kind.ID}
)
DESCRIPTIONS: Final = frozenset({Kind.PROFESSION, Kind.SEX, Kind.FAMILY, Kind.ETHNICITY})
"""Descriptions in common words."""


Found = TypeVar("Found")

# Kinds that a label set may have in place of a finer one, the nearest first.
_COARSER: Final[Mapping[IdentifierType, Sequence[IdentifierType]]] = {
    Kind.NAME: (Kind.STAFF,),
    Kind.STAFF: (Kind.NAME,),
    Kind.HOSPITAL: (Kind.ORGANIZATION, Kind.LOCATION),
    Kind.ORGANIZATION: (Kind.HOSPITAL, Kind.LOCATION),
    **dict.fromkeys((Kind.STREET, Kind.ZIP, Kind.CITY), (Kind.LOCATION,)),
    Kind.FAX: (Kind.PHONE,),
    Kind.USERNAME: (Kind.ID,),
    **dict.fromkeys(CODES - {Kind.ID}, (Kind.ID, Kind.OTHER)),
}


def label_of(kind: IdentifierType, labels: Mapping[IdentifierType, Found]) -> Found | None:
    """The label of a kind, or of the nearest coarser kind that has one; None without."""
    return next((labels[one] for one in (kind, *_COARSER.get(kind, ())) if one in labels), None)


def kinds_of(label_set: str) -> Mapping[str, IdentifierType]:
    """The kind of each label code of a shipped label set; empty for a set that is not shipped."""
    return _shipped().get(label_set, {})


@cache
def kind_of(code: str) -> IdentifierType | None:
    """The kind of a label code in the shipped sets, in which no code has two kinds; None for any other code."""
    return next((kinds[code] for kinds in _shipped().values() if code in kinds), None)


@cache
def _shipped() -> dict[str, dict[str, IdentifierType]]:
    found = json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))
    return {key: {code: IdentifierType(kind) for code, kind in kinds.items()} for key, kinds in found.items()}


class Action(NamedValue):
    """What a release does with the spans of a label: `words` in menus, `done` of a stretch."""

    done: str

    KEEP = "keep", gettext_noop("Keep"), gettext_noop("kept")
    MASK = "mask", gettext_noop("Mask"), gettext_noop("masked")
    REMOVE = "remove", gettext_noop("Remove"), gettext_noop("removed")
    HASH = "hash", gettext_noop("Hash"), gettext_noop("hashed")
    GENERALIZE = "generalize", gettext_noop("Generalize"), gettext_noop("generalized")
    SHIFT = "shift", gettext_noop("Shift dates"), gettext_noop("shifted")
    SURROGATE = "surrogate", gettext_noop("Replace with a surrogate"), gettext_noop("surrogate")


_ALWAYS = (Action.KEEP, Action.MASK, Action.REMOVE, Action.HASH)
_GENERALIZED = PLACES | {Kind.DATE, Kind.AGE}
# Another date would break intervals, which shifting keeps. Another sex, relative, ethnicity or characteristic would be
# false, and a made-up word for an unknown one means nothing.
_NO_SURROGATE = DESCRIPTIONS - {Kind.PROFESSION} | {Kind.DATE, Kind.BIOMETRIC, Kind.OTHER}


@cache
def actions_for(kind: IdentifierType) -> tuple[Action, ...]:
    """The actions that are possible for a kind.

    Only dates are shifted, and only dates, ages and places are generalized. Dates and descriptions have no surrogates.
    """
    return (
        *_ALWAYS,
        *([] if kind in _NO_SURROGATE else [Action.SURROGATE]),
        *([Action.GENERALIZE] if kind in _GENERALIZED else []),
        *([Action.SHIFT] if kind is Kind.DATE else []),
    )


class PolicyError(WordedError, ValueError):
    """A policy that is not total or not possible. The message is a sentence that names labels and actions."""


@dataclass(frozen=True, slots=True)
class LabelRule:
    """What happens to one label's spans. `numbered`: masks count the entities of a note ("[NAME 1]")."""

    kind: IdentifierType
    action: Action
    numbered: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"kind": str(self.kind), "action": str(self.action), "numbered": self.numbered}


@dataclass(frozen=True)
class Policy:
    """A rule for every label code."""

    rules: Mapping[str, LabelRule]

    @classmethod
    def read(cls, rules: Mapping[str, Mapping[str, Any]]) -> "Policy":
        """Read stored rules (ReleasePolicy.rules). Raises PolicyError for an unknown kind or action."""
        try:
            return cls(
                {
                    code: LabelRule(IdentifierType(rule["kind"]), Action(rule["action"]), bool(rule.get("numbered")))
                    for code, rule in rules.items()
                }
            )
        except (KeyError, ValueError) as error:
            raise PolicyError("The policy has an unknown entry: {error}.", error) from error

    def require(self, codes: Iterable[str]) -> None:
        """Raise PolicyError unless the policy has a possible rule for every one of these label codes."""
        missing = sorted(set(codes) - self.rules.keys())
        if missing:
            raise PolicyError("The policy has no rule for these labels: {all}. Add rules for them.", ", ".join(missing))
        if self._impossible:
            raise PolicyError(self._impossible)

    @cached_property
    def seeks_ages(self) -> bool:
        """Whether ages over 89 that nobody labeled must not stay.

        So it is if the policy keeps no label for ages or, where there is none, if dates keep only their year.
        """
        ages = {rule.action for rule in self.rules.values() if rule.kind is Kind.AGE}
        if ages:
            return Action.KEEP not in ages
        return any((rule.kind, rule.action) == (Kind.DATE, Action.GENERALIZE) for rule in self.rules.values())

    @cached_property
    def _impossible(self) -> str:
        """What is wrong with the first rule that isn't possible; empty if all are."""
        for code, rule in self.rules.items():
            if rule.action not in actions_for(rule.kind):
                known = ", ".join(actions_for(rule.kind))
                if rule.action is Action.SURROGATE:
                    sentence = gettext_noop(
                        "The policy can't replace {code} by surrogates: its type is {kind}. Choose one of: {actions}."
                    )
                    return _(sentence, code, rule.kind, known)
                return _(
                    "The policy can't {action} {code}, whose identifier type is {kind}. Choose one of: {actions}.",
                    *(rule.action, code, rule.kind, known),
                )
        return ""


# Shipped policies: an action for every kind of identifier.
#
# Sources: 45 CFR 164.514(b)(2) (Safe Harbor) and 164.514(e)(2) (limited data set), both of the HIPAA Privacy Rule;
# Regulation (EU) 2016/679 (GDPR), article 4(5).


@dataclass(frozen=True, slots=True)
class ShippedPolicy:
    """A policy that every project can use without writing its rules. `actions` has all kinds."""

    slug: str
    name: str
    description: str
    actions: Mapping[IdentifierType, Action]


def _all(action: Action, **but: Collection[IdentifierType]) -> dict[IdentifierType, Action]:
    """The same action for every kind, but for those named beside another action."""
    others = {kind: Action(other) for other, kinds in but.items() for kind in kinds}
    return {kind: others.get(kind, action) for kind in IdentifierType}


_DESCRIBED: Final = frozenset({Kind.PROFESSION, Kind.SEX, Kind.ETHNICITY})
_DAYS: Final = frozenset({Kind.DATE, Kind.AGE})
_STATES: Final = frozenset({Kind.REGION, Kind.COUNTRY})


# 164.514(b)(2)(i) lists identifiers of the individual and of relatives, employers and household members: names (A), all
# geographic subdivisions smaller than a state except the first three digits of most ZIP codes (B), all elements of
# dates except the year, and ages over 89 (C), numbers and addresses (D to P), photographs (Q), and any other unique
# number, characteristic or code (R). Countries, states, sex, ethnicity and professions are not in the list and stay. A
# mixed place is generalized to its state. Hospitals and organizations tell where someone lives or works, so they are
# masked, and so are staff, and words for relatives, whose spans often hold names. "Other" spans count as (R).
_SAFE_HARBOR: Final = _all(Action.MASK, generalize=_DAYS | {Kind.ZIP, Kind.LOCATION}, keep=_DESCRIBED | _STATES)

# 164.514(e)(2) excludes 16 direct identifiers of the individual and of relatives, employers and household members.
# Dates, ages, and "town or city, State, and zip code" stay. A mixed place may be a street, so it is generalized.
_LIMITED: Final = _all(
    Action.MASK, generalize={Kind.LOCATION}, keep=_DESCRIBED | _DAYS | _STATES | {Kind.CITY, Kind.ZIP}
)

# Words for relatives, ethnicity and other characteristics have no surrogate that would be true and harmless. Countries
# stay: they are not in the list of 164.514(b)(2)(i), notes of one hospital name few of them, and beside surrogates of
# other countries an unlabeled mention of the own one would stand out (an attacker found 28 of 32).
_SURROGATE: Final = _all(
    Action.SURROGATE,
    shift={Kind.DATE},
    generalize={Kind.AGE},
    keep={Kind.COUNTRY, Kind.SEX},
    mask={Kind.FAMILY, Kind.ETHNICITY, Kind.OTHER, Kind.BIOMETRIC},
)

# Article 4(5): the data can no longer be attributed to a person without additional information, which is the project's
# key. Equal identifiers stay equal, so that records can be linked.
_HASH: Final = _all(Action.HASH, shift={Kind.DATE}, generalize={Kind.AGE}, keep=_STATES | {Kind.SEX})

SAFE_HARBOR: Final = "safe-harbor"
SHIPPED: Final[dict[str, ShippedPolicy]] = {
    policy.slug: policy
    for policy in (
        ShippedPolicy(
            "mask",
            gettext_noop("Publication mask"),
            gettext_noop("Every labeled span becomes the placeholder of its label."),
            _all(Action.MASK),
        ),
        ShippedPolicy(
            SAFE_HARBOR,
            gettext_noop("HIPAA Safe Harbor"),
            gettext_noop(
                "Years, ages up to 89, states, countries, three digits of ZIP codes, professions, sex and ethnicity "
                "stay. All else is masked."
            ),
            _SAFE_HARBOR,
        ),
        ShippedPolicy(
            "limited",
            gettext_noop("HIPAA limited data set"),
            gettext_noop(
                "Dates, ages, cities, states, countries, ZIP codes, professions, sex and ethnicity stay. All else is "
                "masked. A data use agreement is required."
            ),
            _LIMITED,
        ),
        ShippedPolicy(
            "surrogate",
            gettext_noop("Surrogates"),
            gettext_noop(
                "Realistic replacements, the same for an entity in all notes of a patient. Dates are shifted; ages up "
                "to 89, countries and sex stay."
            ),
            _SURROGATE,
        ),
        ShippedPolicy(
            "hash",
            gettext_noop("GDPR pseudonymization"),
            gettext_noop(
                "Identifiers become keyed hashes, the same for equal identifiers. Dates are shifted; ages up to 89, "
                "states, countries and sex stay."
            ),
            _HASH,
        ),
        ShippedPolicy(
            "remove", gettext_noop("Remove"), gettext_noop("Every labeled span is removed."), _all(Action.REMOVE)
        ),
    )
}
"""The shipped policies by short name, in the order in which pages offer them."""


def basis_of(rules: Collection[LabelRule]) -> str:
    """The shipped policy that has exactly these actions; empty if none has, or several."""
    found = [
        slug for slug, policy in SHIPPED.items() if all(policy.actions[rule.kind] == rule.action for rule in rules)
    ]
    return found[0] if len(found) == 1 else ""


def rules_for(slug: str, kinds: Mapping[str, IdentifierType]) -> dict[str, LabelRule]:
    """The rules of a shipped policy for labels with these kinds."""
    return {code: LabelRule(kind, SHIPPED[slug].actions[kind]) for code, kind in kinds.items()}
