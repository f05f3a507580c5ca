"""Labels of imported files that the project doesn't have: a person maps each to a label, adds it, or skips its spans.

Names are those in the files. They are counted once, when the files are staged. The choices become complete when the
import starts: from then on they name labels by id, so that renaming or merging a label doesn't change the import.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Final, Literal, NotRequired, TypedDict

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.labels import labels_of_today
from annotations.core.services import ServiceError, good_name
from annotations.exchange.rules import likely_labels
from annotations.exchange.selectors import labels_behind, mapping_named
from annotations.exchange.services.input_formats import INPUT_FORMATS, grouped_files, holds_many
from annotations.exchange.services.label_mappings import named_twice, no_label
from annotations.exchange.services.sources import NamedFiles
from annotations.formats.base import LabelFinder
from annotations.formats.notes import NoteError
from annotations.models import Category, Import, ImportState, Label, LabelMapping, Project
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.labels import ascii_code
from annotations.text.names import printable, whole_number

MOST_LABELS: Final = 300
LONGEST_NAME: Final = 200

Found = dict[str, list[int]]
"""By label as written in the files: the number of spans and of notes."""


class LabelChoice(TypedDict):
    """What happens to the spans of one label of the files. `known`: the project has this label."""

    do: Literal["known", "map", "add", "skip"]
    label: NotRequired[int]
    category: NotRequired[int]


Choices = dict[str, LabelChoice]


@dataclass(frozen=True)
class UnknownLabel:
    """A label of the files that the project doesn't have, and what was chosen for it (`value`, empty if nothing)."""

    name: str
    spans: int
    notes: int
    likely: list[Label]
    can_add: bool
    value: str

    @property
    def key(self) -> str:
        """The name in forms. A name in a file may hold characters that no form takes."""
        return sha256(self.name.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class UnknownLabels:
    """All unknown labels of an import. `seen` changes with the list and its choices."""

    rows: list[UnknownLabel]

    @property
    def open(self) -> list[UnknownLabel]:
        return [row for row in self.rows if not row.value]

    @property
    def seen(self) -> str:
        return sha256(json.dumps([(row.name, row.value) for row in self.rows]).encode()).hexdigest()[:16]


def find_labels(format: str, source: NamedFiles) -> tuple[Found, int]:
    """Count the labels of all annotation files, and the notes that use them.

    Other cases of the same name count as the first one. The number of notes is that in files with many, and 0 if the
    files are too long to be read whole.

    Raises ServiceError for files with more than MOST_LABELS labels, which can't be annotations in this format.
    """
    found: Found = {}
    first: dict[str, str] = {}
    groups, _strays = grouped_files(format, source)
    counting = _Counting(source)
    notes = 0
    for group in groups:
        try:
            for counted in INPUT_FORMATS[format].used_labels(group, counting):
                notes += holds_many(format, group)
                used: set[str] = set()
                for written, spans in counted.items():
                    if len(written) <= LONGEST_NAME:
                        name = first.setdefault(written.casefold(), written)
                        line = found.setdefault(name, [0, 0])
                        line[0] += spans
                        line[1] += name not in used
                        used.add(name)
        except NoteError:
            continue  # The import refuses these notes with the reason.
        if len(found) > MOST_LABELS:
            raise ServiceError(
                _("The annotations use more than %(most)s different labels. Nothing was imported. Check the format.")
                % {"most": MOST_LABELS},
                code="labels",
            )
        if counting.read > settings.UPLOAD_MAX_BYTES:
            # A label that only later files use is unknown to the import, which refuses its notes.
            return found, 0
    return found, notes


class _Counting:
    """The files of a source, and the number of bytes that were `read` of them."""

    def __init__(self, source: NamedFiles) -> None:
        self._source = source
        self._opened: IO[bytes] | None = None
        self._read = 0

    @property
    def read(self) -> int:
        return self._read + (self._opened.tell() if self._opened and not self._opened.closed else 0)

    def open(self, name: str) -> IO[bytes]:
        self._opened = self._source.open(name)
        return self._opened

    def load(self, name: str) -> bytes:
        data = self._source.load(name)
        self._read += len(data)
        return data


def unknown_labels(project: Project, found: Found, chosen: Mapping[str, LabelChoice]) -> UnknownLabels:
    """The labels of the files that the project doesn't have now, most spans first."""
    accepted, ids = accepted_labels(project)
    find = LabelFinder(accepted)
    names = sorted((name for name in found if find(name) is None), key=lambda name: (-found[name][0], name))
    if not names:
        return UnknownLabels([])
    labels = {label.pk: label for label in Label.objects.filter(pk__in=ids.values()).select_related("category")}
    categories = set(Category.objects.filter(label_set__project=project).values_list("pk", flat=True))
    today = labels_of_today(choice["label"] for choice in chosen.values() if "label" in choice)
    taken = {
        code.casefold() for code in Label.objects.filter(label_set__project=project).values_list("code", flat=True)
    }
    return UnknownLabels(
        [
            UnknownLabel(
                name=name,
                spans=found[name][0],
                notes=found[name][1],
                likely=[labels[ids[code]] for code in likely_labels(name, accepted)],
                can_add=bool(categories) and _can_be_added(name, taken),
                value=_value(chosen.get(name), today, set(labels), categories),
            )
            for name in names
        ]
    )


def _value(choice: LabelChoice | None, today: Mapping[int, int], labels: set[int], categories: set[int]) -> str:
    """The choice as the form has it; empty if its label or category was deleted."""
    if choice is None:
        return ""
    if choice["do"] == "map":
        label = today.get(choice.get("label", 0), 0)
        return f"map:{label}" if label in labels else ""
    if choice["do"] == "add":
        return f"add:{choice['category']}" if choice.get("category") in categories else ""
    return "skip" if choice["do"] == "skip" else ""


def _can_be_added(name: str, taken: set[str]) -> bool:
    """Whether a label can have this name, and its code is free."""
    try:
        code = ascii_code(good_name(name))
    except (ServiceError, ValueError):
        return False
    return len(name) <= 80 and len(code) <= 60 and code.casefold() not in taken


def unknown_of(row: Import) -> UnknownLabels:
    """The unknown labels of a staged import. Without an author there are none, since no annotations are imported."""
    if not row.written_as or row.labels_found is None:
        return UnknownLabels([])
    return unknown_labels(row.project, row.labels_found, row.label_choices)


def choose_labels(*, row: Import, values: Mapping[str, str], seen: str) -> None:
    """Store the choices for unknown labels of a staged import, by their keys: `map:ID`, `add:ID`, `skip` or nothing.

    Raises ServiceError if the import has begun, or if somebody else has changed the choices since `seen`.
    """
    with transaction.atomic():
        row = Import.objects.select_for_update().select_related("project").get(pk=row.pk)
        if row.state != ImportState.STAGED:
            raise begun()
        unknown = unknown_of(row)
        wanted = {one.name: values.get(one.key, one.value) for one in unknown.rows}
        chosen = {name: _parse(value) for name, value in wanted.items() if value}
        after = unknown_labels(row.project, row.labels_found or {}, chosen)
        for one in after.rows:
            if one.value != wanted[one.name] or (one.value.startswith("add:") and not one.can_add):
                raise ServiceError(
                    _("The choice for the label “%(label)s” is no longer possible. Nothing was changed. Choose again.")
                    % {"label": printable(one.name)},
                    code="choice",
                )
        if after.seen == unknown.seen:
            return
        if seen != unknown.seen:
            raise labels_changed()
        row.label_choices = chosen
        row.save(update_fields=["label_choices"])


def choose_by_mapping(
    *, row: Import, mapping: LabelMapping, values: Mapping[str, str], seen: str
) -> tuple[list[str], list[str]]:
    """Store the choices `values` as `choose_labels` does, and map labels without a choice back by a label mapping.

    Return the labels that were mapped, and those that stay open because the mapping writes several labels like them.
    """
    behind = labels_behind(mapping)
    mapped: list[str] = []
    several: list[str] = []
    wanted = dict(values)
    for one in unknown_of(row).rows:
        labels = behind.get(one.name.casefold(), [])
        if wanted.get(one.key, one.value) or not labels:
            continue
        if len(labels) == 1:
            mapped.append(one.name)
            wanted[one.key] = f"map:{labels[0]}"
        else:
            several.append(one.name)
    choose_labels(row=row, values=wanted, seen=seen)
    return mapped, several


def _parse(value: str) -> LabelChoice:
    kind, _colon, number = value.partition(":")
    pk = whole_number(number)
    if value == "skip":
        return {"do": "skip"}
    if kind == "map" and pk is not None:
        return {"do": "map", "label": pk}
    if kind == "add" and pk is not None:
        return {"do": "add", "category": pk}
    raise ServiceError(_("Choose an action for each label from the list. Nothing was changed."), code="choice")


def begun() -> ServiceError:
    return ServiceError(
        _("This import has already started. Nothing was changed. You can cancel it on the job page."), code="begun"
    )


def labels_changed() -> ServiceError:
    return ServiceError(
        _("The labels or the choices for them have changed since you opened this page. Check them, then try again."),
        code="changed",
    )


def complete_choices(row: Import) -> Choices:
    """What happens to every label of the files. Raises ServiceError naming the unknown labels without a choice.

    Call it while merges of labels are excluded (annotations.core.services).
    """
    found: Found = row.labels_found or {}
    accepted, ids = accepted_labels(row.project)
    find = LabelFinder(accepted)
    known = {name: code for name in found if (code := find(name)) is not None}
    complete: Choices = {name: {"do": "known", "label": ids[code]} for name, code in known.items()}
    others = [name for name in found if name not in known]
    if not row.written_as or not others:
        return complete | {name: LabelChoice(do="skip") for name in others}
    unknown = unknown_of(row)
    if unknown.open:
        raise ServiceError(_open_labels(unknown.open), code="open-labels")
    return complete | {one.name: _parse(one.value) for one in unknown.rows}


def _open_labels(rows: Sequence[UnknownLabel]) -> str:
    lines = [_("The project doesn't have these labels of the files. Nothing was imported. Map, add or skip each one:")]
    for row in rows:
        counts = {"label": printable(row.name), "spans": row.spans, "notes": row.notes}
        if row.likely:
            line = _("“%(label)s” (spans: %(spans)s, notes: %(notes)s). Did you mean %(likely)s?")
            lines.append(line % (counts | {"likely": ", ".join(label.code for label in row.likely)}))
        else:
            lines.append(_("“%(label)s” (spans: %(spans)s, notes: %(notes)s).") % counts)
    return "\n".join(lines)


def choices_by_name(
    project: Project,
    found: Found,
    *,
    mapped: Sequence[str],
    added: Sequence[str],
    skipped: Sequence[str],
    mapping: str = "",
) -> Choices:
    """Choices from words: `FILE=LABEL`, `FILE` or `FILE=CATEGORY`, and `FILE`. Raises ServiceError.

    The label mapping named `mapping` maps the other labels back, except where it writes several labels like a label.
    """
    unknown = {row.name.casefold(): row for row in unknown_labels(project, found, {}).rows}
    accepted, ids = accepted_labels(project)
    find = LabelFinder(accepted)
    categories = list(Category.objects.filter(label_set__project=project))
    chosen: Choices = {}

    def choose(name: str, choice: LabelChoice) -> None:
        row = unknown.get(name.casefold())
        if row is None:
            names = ", ".join(printable(one.name) for one in unknown.values()) or _("none")
            message = _("“%(label)s” is not an unknown label of these files. Unknown labels: %(names)s.")
            raise ServiceError(message % {"label": printable(name), "names": names}, code="labels")
        if row.name in chosen:
            raise named_twice(name)
        if choice["do"] == "add" and not row.can_add:
            raise ServiceError(
                _("The label “%(label)s” can't be added: its name or code is not possible or taken. Map or skip it.")
                % {"label": printable(name)},
                code="labels",
            )
        chosen[row.name] = choice

    def parted(word: str, ends: list[int]) -> tuple[str, str]:
        """The label and what follows its “=”. Names may hold this sign: the longest unknown label counts."""
        signs = [at for at in reversed(range(len(word))) if word[at] == "="]
        at = next((at for at in ends + signs if word[:at].casefold() in unknown), [*signs, len(word)][0])
        return word[:at], word[at + 1 :]

    for word in mapped:
        name, target = parted(word, [])
        code = find(target)
        if code is None:
            raise no_label(target, ids)
        choose(name, {"do": "map", "label": ids[code]})
    for word in added:
        name, wanted = parted(word, [len(word)])
        inside = [
            one for one in categories if not wanted or wanted.casefold() in (one.code.casefold(), one.name.casefold())
        ]
        if not inside:
            raise ServiceError(
                _("There is no category “%(category)s”. Choose one of: %(choices)s.")
                % {"category": printable(wanted), "choices": ", ".join(one.code for one in categories)},
                code="category",
            )
        choose(name, {"do": "add", "category": inside[0].pk})
    for word in skipped:
        choose(word, {"do": "skip"})
    behind = labels_behind(mapping_named(project, mapping)) if mapping else {}
    for key, row in unknown.items():
        if row.name not in chosen and len(labels := behind.get(key, [])) == 1:
            chosen[row.name] = {"do": "map", "label": labels[0]}
    return chosen
