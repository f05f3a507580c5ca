"""Policies: an action for every label."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Any

from annotations.release.rules.redaction.kinds import IdentifierType


class Action(StrEnum):
    """What a release does with the spans of a label."""

    KEEP = "keep"
    MASK = "mask"
    REMOVE = "remove"
    HASH = "hash"
    GENERALIZE = "generalize"
    SHIFT = "shift"
    SURROGATE = "surrogate"


_ALWAYS = (Action.KEEP, Action.MASK, Action.REMOVE, Action.HASH)
_GENERALIZED = frozenset(
    {
        IdentifierType.DATE,
        IdentifierType.AGE,
        IdentifierType.ZIP,
        IdentifierType.CITY,
        IdentifierType.REGION,
        IdentifierType.COUNTRY,
        IdentifierType.LOCATION,
        IdentifierType.STREET,
    }
)
# Another date would break intervals, which shifting keeps. Another sex, relative, ethnicity or characteristic would be
# false, and a made-up word for an unknown one means nothing.
_NO_SURROGATE = frozenset(
    {
        IdentifierType.DATE,
        IdentifierType.SEX,
        IdentifierType.FAMILY,
        IdentifierType.ETHNICITY,
        IdentifierType.BIOMETRIC,
        IdentifierType.OTHER,
    }
)


@cache
def actions_for(kind: IdentifierType) -> tuple[Action, ...]:
    """The actions that are possible for a kind.

    Only dates are shifted, and only dates, ages and places are generalized. Dates and descriptions have no surrogates.
    """
    return (
        *_ALWAYS,
        *([] if kind in _NO_SURROGATE else [Action.SURROGATE]),
        *([Action.GENERALIZE] if kind in _GENERALIZED else []),
        *([Action.SHIFT] if kind is IdentifierType.DATE else []),
    )


class PolicyError(ValueError):
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
            raise PolicyError(f"The policy has an unknown entry: {error}.") from error

    def require(self, codes: Iterable[str]) -> None:
        """Raise PolicyError unless the policy has a possible rule for every one of these label codes."""
        missing = sorted(set(codes) - self.rules.keys())
        if missing:
            raise PolicyError(f"The policy has no rule for these labels: {', '.join(missing)}. Add rules for them.")
        if self._impossible:
            raise PolicyError(self._impossible)

    @cached_property
    def seeks_ages(self) -> bool:
        """Whether ages over 89 that nobody labeled must not stay.

        So it is if the policy keeps no label for ages or, where there is none, if dates keep only their year.
        """
        ages = {rule.action for rule in self.rules.values() if rule.kind is IdentifierType.AGE}
        if ages:
            return Action.KEEP not in ages
        return any((rule.kind, rule.action) == (IdentifierType.DATE, Action.GENERALIZE) for rule in self.rules.values())

    @cached_property
    def _impossible(self) -> str:
        """What is wrong with the first rule that isn't possible; empty if all are."""
        for code, rule in self.rules.items():
            if rule.action not in actions_for(rule.kind):
                what = f"replace {code} by surrogates" if rule.action is Action.SURROGATE else f"{rule.action} {code}"
                return (
                    f"The policy can't {what}, whose kind is {rule.kind}. Choose one of: "
                    f"{', '.join(actions_for(rule.kind))}."
                )
        return ""
