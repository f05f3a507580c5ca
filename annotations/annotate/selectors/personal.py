"""The keys of labels for one person: their own choices first, then the project's keys."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from django.db.models import FilteredRelation, Q, QuerySet
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from annotations.core.labels import LABEL_COLUMNS, LabelItem, label_item, label_rows
from annotations.core.templatetags.labels import label_buttons
from annotations.models import Label
from annotations.models.prepared import PreparedRead
from annotations.text.labels import RESERVED_HOTKEYS

# The program's own keys and what they do. No label can have them.
PROGRAM_KEYS: dict[str, Promise] = {
    "n": _("next note"),
    "p": _("previous note"),
    "g": _("guidelines"),
    "f": _("flag"),
    "m": _("comment; in review: mark a missed identifier"),
    "u": _("reopen or undo a submission; in review: undo"),
    "a": _("accept in review"),
    "x": _("reject in review"),
    "e": _("change the ends in review; keep a decision in adjudication"),
    "j": _("next suggestion or disagreement"),
    "k": _("previous suggestion or disagreement"),
    "v": _("masked view in review"),
    "w": _("cause of a disagreement"),
    "?": _("list of keys"),
    "/": _("search"),
    "*": _("all other mentions"),
}


@dataclass(frozen=True)
class KeyLine:
    """A label with the project's key, the key that this person uses, and the key that they chose, if any."""

    label: LabelItem
    default: str
    key: str
    chosen: str | None

    @property
    def changed(self) -> bool:
        return self.key != self.default


def _labels(project: int, user: int) -> "QuerySet[Label, Any]":
    own = FilteredRelation("personal_keys", condition=Q(personal_keys__user_id=user))
    return label_rows(project).annotate(own=own).values_list("own__key", *LABEL_COLUMNS)


_LABELS = PreparedRead(_labels, int, int)


def _read(rows: Iterable[tuple[Any, ...]]) -> tuple[list[LabelItem], dict[int, str]]:
    """The labels with the project's keys, and this person's chosen keys by label id; "" stands for no key."""
    rows = [(*row, json.loads(attributes)) for *row, attributes in rows]
    return [label_item(*row[1:]) for row in rows], {row[1]: row[0] for row in rows if row[0] is not None}


def combined(defaults: Mapping[int, str], chosen: Mapping[int, str]) -> dict[int, str]:
    """The key of each label: chosen keys take precedence, and a default that somebody chose elsewhere is dropped.

    `chosen` never gives the same key to two labels.
    """
    taken = {key for key in chosen.values() if key}
    keys = {}
    for label, default in defaults.items():
        keys[label] = chosen[label] if label in chosen else "" if _folded(default) in taken else default
    return keys


def _folded(key: str) -> str:
    return key.casefold()


def own_labels(project_id: int, user_id: int) -> list[LabelItem]:
    """The project's labels in their order, each with the key that this person uses."""
    return _with_own_keys(_LABELS.all(project_id, user_id))


def _with_own_keys(rows: Iterable[tuple[Any, ...]]) -> list[LabelItem]:
    labels, chosen = _read(rows)
    if chosen:
        keys = combined({label["id"]: label["key"] for label in labels}, chosen)
        for label in labels:
            label["key"] = keys[label["id"]]
    return labels


class PageLabels(NamedTuple):
    """The labels of the annotate page, their buttons, and a hash of both by which a page notices changes.

    Pages with the same labels and keys share them: nobody may change them.
    """

    items: list[LabelItem]
    stamp: str
    buttons: SafeString


def page_labels(project_id: int, user_id: int) -> PageLabels:
    """What `own_labels` returns, made once for as long as nothing changes."""
    return _page_labels(tuple(_LABELS.all(project_id, user_id)))


@lru_cache(maxsize=128)
def _page_labels(rows: tuple[tuple[Any, ...], ...]) -> PageLabels:
    labels = _with_own_keys(rows)
    return PageLabels(labels, sha256(json.dumps(labels).encode()).hexdigest()[:16], label_buttons(labels))


def key_lines(project_id: int, user_id: int) -> list[KeyLine]:
    """The lines of the page of keys."""
    labels, chosen = _read(_LABELS.all(project_id, user_id))
    keys = combined({label["id"]: label["key"] for label in labels}, chosen)
    return [KeyLine(label, label["key"], keys[label["id"]], chosen=chosen.get(label["id"])) for label in labels]


def program_keys(keys: Iterable[str] = RESERVED_HOTKEYS) -> list[tuple[str, Promise]]:
    """The program's own keys with what they do, letters first."""
    return [(key, PROGRAM_KEYS[key]) for key in sorted(keys, key=lambda key: (not key.isalnum(), key))]
