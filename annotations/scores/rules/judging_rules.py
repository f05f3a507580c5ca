"""The rules by which verdicts of judges are counted: those of this project, and those of Miranda et al. 2025."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class JudgedUnit(StrEnum):
    """What one entity is: each occurrence, or all occurrences in a note of one text with one label."""

    OCCURRENCE = "occurrence"
    TEXT = "text"


@dataclass(frozen=True)
class Rules:
    """Rules under a name. `unit` and `temperature` are defaults, which a judging may replace.

    `of_all`: a majority is a share of all judges asked; otherwise of those who answered on the note.
    `any_verdict`: every verdict can win. Otherwise FP can't win for an entity in gold, nor FN for another one.
    `label_by_label`: every label has its own question, and a placeholder is beyond gold unless it overlaps gold of its
    own label; otherwise gold of any label counts.
    """

    key: str
    of_all: bool
    any_verdict: bool
    label_by_label: bool
    unit: JudgedUnit
    temperature: float


STANDARD: Final = Rules("standard", False, False, False, JudgedUnit.OCCURRENCE, 0.0)
# Sections 3.3.1, 3.3.2 and 4.2, and appendix A.
MIRANDA: Final = Rules("miranda-2025", True, True, True, JudgedUnit.TEXT, 0.7)

RULES: Final[Mapping[str, Rules]] = {rules.key: rules for rules in (STANDARD, MIRANDA)}
