"""The label of each kind in a label set.

Three label sets have a table of their own (`data/labels.json`), because kinds are finer than any single set. The other
sets get their labels through the shipped mapping from `i2b2-2014`. A kind without a label in a set gives no spans.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from annotations.installation import SHIPPED
from models_runtime.backends.base import BackendError
from models_runtime.backends.rules.kinds import RuleKind

HOME: Final = "i2b2-2014"
_TABLE: Final = Path(__file__).with_name("data") / "labels.json"
MAPPINGS: Final = SHIPPED / "fixtures" / "label_sets" / "mappings.json"


@cache
def table(label_set: str) -> dict[RuleKind, str | None]:
    """The label code of each kind in a label set, or None. Raises BackendError (permanent) for an unknown set."""
    rows: dict[str, dict[str, str | None]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    kinds = [kind for kind in RuleKind if kind is not RuleKind.TRAP]
    if all(label_set in row for row in rows.values()):
        return {kind: rows[kind][label_set] for kind in kinds}
    through = mapping_from_home(label_set)
    found: dict[RuleKind, str | None] = {}
    for kind in kinds:
        row, home = rows[kind], rows[kind][HOME]
        found[kind] = row[label_set] if label_set in row else through[home] if home else None
    return found


def mapping_from_home(label_set: str) -> dict[str, str | None]:
    """The label in a shipped label set for each label of HOME, or None. Raises BackendError (permanent)."""
    known = {m["to"]: m["labels"] for m in json.loads(MAPPINGS.read_text(encoding="utf-8")) if m["from"] == HOME}
    if label_set not in known:
        choices = ", ".join(sorted({HOME, "redactor-33", *known}))
        raise BackendError(
            f"The rules don't support the label set “{label_set}”. Supported: {choices}.", permanent=True
        )
    return dict(known[label_set])
