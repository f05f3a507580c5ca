"""What a certificate states about the eighteen identifiers and about the two methods of HHS.

Sources: 45 CFR 164.514(b); HHS 2012, sections 2 and 3.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from annotations.domain.certifying.content import IdentifierRow, RuleRow, Statement
from annotations.domain.certifying.hipaa import IDENTIFIERS
from annotations.domain.redaction.policy import Action

REMOVED: Final = "removed"
KEPT: Final = "kept"
NONE: Final = "none"

# A shifted date is still a full date, and a code that is derived from the value is not allowed by 164.514(c).
_NOT_REMOVING: Final = frozenset({Action.KEEP, Action.SHIFT, Action.HASH})
# What generalizing leaves is allowed for these identifiers only: years, and ages over 89 as one group.
_GENERALIZABLE: Final = frozenset({"DATES", "GEOGRAPHIC"})

STATUS: Final[Mapping[str, str]] = {
    REMOVED: "Removed or replaced",
    KEPT: "Kept, shifted or coded",
    NONE: "No label: not looked for",
}


def identifier_rows(rules: Sequence[RuleRow]) -> list[IdentifierRow]:
    """The eighteen identifiers, each with the labels that are mapped to it and what the policy does with them."""
    rows = []
    for identifier in IDENTIFIERS:
        mapped = [rule for rule in rules if rule["identifier"] == identifier.code]
        keeps = any(_keeps(rule, identifier.code) for rule in mapped)
        rows.append(
            IdentifierRow(
                letter=identifier.letter,
                code=identifier.code,
                name=identifier.name,
                labels=[rule["label"] for rule in mapped],
                actions=sorted({rule["action"] for rule in mapped}),
                spans=sum(rule["spans"] for rule in mapped),
                status=(KEPT if keeps else REMOVED) if mapped else NONE,
            )
        )
    return rows


def _keeps(rule: RuleRow, identifier: str) -> bool:
    action = Action(rule["action"])
    return action in _NOT_REMOVING or (action is Action.GENERALIZE and identifier not in _GENERALIZABLE)


def statements(rows: Sequence[IdentifierRow], *, audited: bool) -> list[Statement]:
    """What the certificate says about Safe Harbor, actual knowledge, and expert determination."""
    return [
        Statement(method="safe harbor", section="45 CFR 164.514(b)(2)(i)", text=_safe_harbor(rows)),
        Statement(
            method="actual knowledge",
            section="45 CFR 164.514(b)(2)(ii)",
            text=(
                "Safe Harbor also requires that the covered entity has no actual knowledge that the remaining "
                "information could identify a person. Software can't state this. The accepted open risks list what was "
                "known when this certificate was signed."
            ),
        ),
        Statement(
            method="expert determination",
            section="45 CFR 164.514(b)(1)",
            text=(
                "This certificate is not a determination by an expert. "
                + (
                    "The audit's figures and the documented methods are material for one."
                    if audited
                    else "No audit measured the leaks that remain, so an expert needs further evidence."
                )
            ),
        ),
    ]


def _safe_harbor(rows: Sequence[IdentifierRow]) -> str:
    kept = [row["letter"] for row in rows if row["status"] == KEPT]
    missing = [row["letter"] for row in rows if row["status"] == NONE]
    # Notes are plain text, so that there are no images.
    missing = [letter for letter in missing if letter != "Q"]
    if kept:
        return f"The policy does not remove all eighteen identifiers. Kept, shifted or coded: {_listed(kept)}." + (
            f" Without a label: {_listed(missing)}." if missing else ""
        )
    if missing:
        return (
            "The policy removes or replaces every identifier that the project labels. These of the eighteen have no "
            f"label, so they were not looked for: {_listed(missing)}."
        )
    return (
        "The policy removes or replaces the labeled spans of all eighteen identifiers; notes are text without images. "
        "Identifiers that nobody labeled may remain."
    )


def _listed(letters: Sequence[str]) -> str:
    return ", ".join(f"({letter})" for letter in letters)
