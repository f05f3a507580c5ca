"""From kinds to the labels of a label set.

Three sets have a table of their own (`data/labels.json`), because rules know more than one set can say; the others get
their labels through the shipped mapping from `i2b2-2014`. What has no label in a set is not emitted.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from models_runtime.backends.base import BackendError
from models_runtime.backends.rules.kinds import Kind

HOME: Final = "i2b2-2014"
_TABLE: Final = Path(__file__).with_name("data") / "labels.json"
MAPPINGS: Final = Path(__file__).resolve().parents[3] / "fixtures" / "label_sets" / "mappings.json"


@cache
def table(label_set: str) -> dict[Kind, str | None]:
    """The label code of each kind in a label set; None where the set has none. Raises BackendError (permanent)."""
    rows: dict[str, dict[str, str | None]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    kinds = [kind for kind in Kind if kind is not Kind.TRAP]
    if all(label_set in row for row in rows.values()):
        return {kind: rows[kind][label_set] for kind in kinds}
    through = mapping_from_home(label_set)
    found: dict[Kind, str | None] = {}
    for kind in kinds:
        row, home = rows[kind], rows[kind][HOME]
        found[kind] = row[label_set] if label_set in row else through[home] if home else None
    return found


def mapping_from_home(label_set: str) -> dict[str, str | None]:
    """What each label of HOME is in a shipped label set, None where it has none. Raises BackendError (permanent)."""
    known = {m["to"]: m["labels"] for m in json.loads(MAPPINGS.read_text(encoding="utf-8")) if m["from"] == HOME}
    if label_set not in known:
        choices = ", ".join(sorted({HOME, "redactor-33", *known}))
        raise BackendError(f"the rules don't speak the label set {label_set!r}; they speak {choices}", permanent=True)
    return dict(known[label_set])
