"""Policies: an action for every label."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotations.domain.redaction.kinds import Kind


class Action(StrEnum):
    """What a release does with the spans of a label."""

    KEEP = "keep"
    MASK = "mask"
    REMOVE = "remove"
    HASH = "hash"
    GENERALIZE = "generalize"
    SHIFT = "shift"
    SURROGATE = "surrogate"


class PolicyError(ValueError):
    """A policy that is not total or not possible. The message is a sentence that names labels and actions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to one label's spans. `numbered`: masks count the entities of a note ("[NAME 1]")."""

    kind: Kind
    action: Action
    numbered: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"kind": str(self.kind), "action": str(self.action), "numbered": self.numbered}


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule for every label code."""

    rules: Mapping[str, Rule]

    @classmethod
    def read(cls, rules: Mapping[str, Mapping[str, Any]]) -> "Policy":
        """Read stored rules (ReleasePolicy.rules). Raises PolicyError for an unknown kind or action."""
        try:
            return cls(
                {
                    code: Rule(Kind(rule["kind"]), Action(rule["action"]), bool(rule.get("numbered")))
                    for code, rule in rules.items()
                }
            )
        except (KeyError, ValueError) as error:
            raise PolicyError(f"The policy has an unknown entry: {error}.") from error

    def require(self, codes: Iterable[str]) -> None:
        """Raise PolicyError unless the policy has a rule for every one of these label codes."""
        missing = sorted(set(codes) - set(self.rules))
        if missing:
            raise PolicyError(f"The policy has no rule for these labels: {', '.join(missing)}. Add rules for them.")
