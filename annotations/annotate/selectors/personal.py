"""The key of each label as one person uses it: their own choices first, then the project's."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from django.db.models import FilteredRelation, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotations.core.labels import LABEL_COLUMNS, LabelItem, label_item, label_rows
from annotations.domain.labels import RESERVED_HOTKEYS
from annotations.models.prepared import PreparedRead

# What the program's own keys do: they come before a label's, so that a label can't have them.
PROGRAM_KEYS: dict[str, Promise] = {
    "n": _("next note"),
    "p": _("previous note"),
    "g": _("guidelines"),
    "f": _("flag"),
    "m": _("comment, and in a review mark a miss"),
    "u": _("undo in a review"),
    "x": _("reject in a review"),
    "?": _("list of keys"),
    "/": _("search"),
    "*": _("all other mentions"),
}

# Opening a note runs this: the labels and the person's own keys in one statement.
_LABELS = PreparedRead(
    lambda project, user: (
        label_rows(project)
        .annotate(own=FilteredRelation("personal_keys", condition=Q(personal_keys__user_id=user)))
        .values_list(*LABEL_COLUMNS, "own__key")
    ),
    int,
    int,
)


@dataclass(frozen=True)
class KeyLine:
    """A label with the project's key, the one that this person uses, and their choice (None: they made none)."""

    label: LabelItem
    default: str
    key: str
    chosen: str | None

    @property
    def changed(self) -> bool:
        return self.key != self.default


def _read(project_id: int, user_id: int) -> tuple[list[LabelItem], dict[int, str]]:
    """The labels with the project's keys, and what this person chose, by label; empty: no key."""
    rows = _LABELS.all(project_id, user_id)
    return [label_item(*row[:-1]) for row in rows], {row[0]: row[-1] for row in rows if row[-1] is not None}


def effective_keys(project_id: int, user_id: int) -> dict[int, str]:
    """The key of every label of the project, as this person uses it; empty: none."""
    return {line.label["id"]: line.key for line in key_lines(project_id, user_id)}


def combined(defaults: Mapping[int, str], chosen: Mapping[int, str]) -> dict[int, str]:
    """A chosen key is lost by the label that had it. `chosen` never gives two labels one key."""
    taken = {key for key in chosen.values() if key}
    keys = {}
    for label, default in defaults.items():
        keys[label] = chosen[label] if label in chosen else "" if _folded(default) in taken else default
    return keys


def _folded(key: str) -> str:
    return key.casefold()


def own_labels(project_id: int, user_id: int) -> list[LabelItem]:
    """The project's labels in their order, each with the key that this person uses."""
    labels, chosen = _read(project_id, user_id)
    if chosen:
        keys = combined({label["id"]: label["key"] for label in labels}, chosen)
        for label in labels:
            label["key"] = keys[label["id"]]
    return labels


def labels_stamp(labels: list[LabelItem]) -> str:
    """Tells whether labels are others, or have other keys, than those that a page was made with."""
    return sha256(json.dumps(labels).encode()).hexdigest()[:16]


def key_lines(project_id: int, user_id: int) -> list[KeyLine]:
    """What the page of keys shows."""
    labels, chosen = _read(project_id, user_id)
    keys = combined({label["id"]: label["key"] for label in labels}, chosen)
    return [KeyLine(label, label["key"], keys[label["id"]], chosen=chosen.get(label["id"])) for label in labels]


def program_keys(keys: Iterable[str] = RESERVED_HOTKEYS) -> list[tuple[str, Promise]]:
    """The program's own keys with what they do, letters first."""
    return [(key, PROGRAM_KEYS[key]) for key in sorted(keys, key=lambda key: (not key.isalnum(), key))]
