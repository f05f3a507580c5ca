"""What a certificate states about the eighteen identifiers and about the two methods of HHS.

Sources: 45 CFR 164.514(b); HHS 2012, sections 2 and 3.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from annotations.release.rules.certificates.content import IdentifierRow, RuleRow, Statement
from annotations.release.rules.certificates.hipaa import IDENTIFIERS, covers_all
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action

REMOVED: Final = "removed"
KEPT: Final = "kept"
PARTLY: Final = "partly"
SEARCHED: Final = "searched"
NONE: Final = "none"
NOT_MET: Final = "Not met."

# A shifted date is still a full date, and a code that is derived from the value is not allowed by 164.514(c).
_NOT_REMOVING: Final = frozenset({Action.KEEP, Action.SHIFT, Action.HASH})
# What generalizing leaves is allowed for these identifiers only: years, and ages over 89 as one group.
_GENERALIZABLE: Final = frozenset({"DATES", "GEOGRAPHIC"})

EVERY: Final = " in every note"
STATUS: Final[Mapping[str, str]] = {
    REMOVED: "Removed or replaced where labeled",
    KEPT: "Kept, shifted or coded, at least in part",
    SEARCHED: "Removed where labeled; the leak gate looked for the rest in every note",
    PARTLY: "Only a part has a label; the rest was not looked for",
    NONE: "No label: not looked for",
}


def result_of(row: IdentifierRow, *, unread: bool = False) -> str:
    """What became of an identifier, in words. `unread`: the rules of the leak gate could not read some notes."""
    if row["status"] == NONE and row["letter"] == "Q":
        return "Notes are text, and have no images"
    if row["status"] == SEARCHED and not row["labels"]:
        return "No label; the leak gate looked for it in every note"
    return STATUS[row["status"]] + (EVERY if unread and row["status"] in (PARTLY, NONE) else "")


def identifier_rows(rules: Sequence[RuleRow], looked_for: Collection[str] = ()) -> list[IdentifierRow]:
    """The eighteen identifiers, each with the labels that are mapped to it and what the policy does with them.

    `looked_for`: the codes of the identifiers that the leak gate looked for in all notes, whether labeled or not.
    """
    rows = []
    for identifier in IDENTIFIERS:
        mapped = [rule for rule in rules if rule["identifier"] == identifier.code]
        rows.append(
            IdentifierRow(
                letter=identifier.letter,
                code=identifier.code,
                name=identifier.name,
                labels=[rule["label"] for rule in mapped],
                actions=sorted({rule["action"] for rule in mapped}),
                spans=sum(rule["spans"] for rule in mapped),
                status=_status(identifier.code, mapped, looked_for),
            )
        )
    return rows


def _status(identifier: str, mapped: Sequence[RuleRow], looked_for: Collection[str]) -> str:
    if any(_keeps(rule, identifier) for rule in mapped):
        return KEPT
    if covers_all(identifier, [(rule["label"], IdentifierType(rule["kind"])) for rule in mapped]):
        return REMOVED
    if identifier in looked_for:
        return SEARCHED
    return PARTLY if mapped else NONE


def _keeps(rule: RuleRow, identifier: str) -> bool:
    action = Action(rule["action"])
    return action in _NOT_REMOVING or (action is Action.GENERALIZE and identifier not in _GENERALIZABLE)


def statements(rows: Sequence[IdentifierRow], *, audited: bool, unread: bool = False) -> list[Statement]:
    """What the certificate says about Safe Harbor, actual knowledge, and expert determination.

    `unread`: the rules of the leak gate could not read some notes.
    """
    return [
        Statement(
            method="safe harbor", section="45 CFR 164.514(b)(2)(i)", text=_safe_harbor(rows, EVERY if unread else "")
        ),
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


def _safe_harbor(rows: Sequence[IdentifierRow], every: str) -> str:
    # Notes are plain text, so that there are no images.
    found = {
        status: [row["letter"] for row in rows if row["status"] == status and row["letter"] != "Q"] for status in STATUS
    }
    lacking = [
        f"{words}: {_listed(found[status])}."
        for status, words in (
            (KEPT, "Kept, shifted or coded"),
            (PARTLY, f"With labels for a part only, and the rest not looked for{every}"),
            (NONE, f"Without a label, and not looked for{every}"),
        )
        if found[status]
    ]
    rest = "Identifiers that nobody labeled and the leak gate did not find may remain."
    if lacking:
        return " ".join([f"{NOT_MET} The release does not remove all eighteen identifiers.", *lacking, rest])
    text = (
        "The policy removes or replaces the labeled spans of seventeen of the eighteen identifiers; the other one, "
        "(Q), are images, which notes don't have. "
    )
    if found[SEARCHED]:
        text += (
            f"For {_listed(found[SEARCHED])} there is no label, or one for a part only. The leak gate looked for them "
            "in every note, and what it found was replaced, or allowed by a person. "
        )
    return text + rest


def _listed(letters: Sequence[str]) -> str:
    return ", ".join(f"({letter})" for letter in letters)
