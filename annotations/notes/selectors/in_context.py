"""Places of notes shown in their sentences: what one side says there, and what the other does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from annotations.core.labels import UNDERLINES
from annotations.domain.sentences import around
from annotations.models import Document, Label, Project
from annotations.notes.selectors.readings import line_at
from annotations.projects.selectors.label_maps import shipped_set

HUES = 12


@dataclass(frozen=True)
class LabelLook:
    """A label by its code, with its category's hue and underline."""

    code: str
    name: str
    hue: int = 0
    underline: int = 0


def label_looks(project: Project, into: str = "") -> dict[str, LabelLook]:
    """The labels that figures name, by code, in their order: the project's (merged ones last), or another set's."""
    if into:
        found: dict[str, LabelLook] = {}
        categories = shipped_set(into).categories
        for place, category in enumerate(categories):
            hue, underline = place * HUES // len(categories), place % UNDERLINES
            found[category.code] = LabelLook(category.code, category.name, hue, underline)
            found.update({one.code: LabelLook(one.code, one.name, hue, underline) for one in category.labels})
        return found
    rows = Label.objects.filter(label_set__project=project).select_related("category")
    ordered = sorted(rows, key=lambda label: (label.merged_into_id is not None, label.position, label.pk))
    return {
        label.code: LabelLook(label.code, label.name, label.category.hue, label.category.position % UNDERLINES)
        for label in ordered
    }


@dataclass(frozen=True)
class Said:
    """What one side has at a place: its label and the words that it marks."""

    look: LabelLook
    quote: str


@dataclass(frozen=True)
class Entry:
    """A place in its sentence. `first` and `second` are the two sides; None where that side has nothing there."""

    note: int
    name: str
    language: str
    line: int
    kind: str
    before: str
    marked: str
    after: str
    cut_before: bool
    cut_after: bool
    first: Said | None
    second: Said | None


def entries(rows: Sequence[Sequence[Any]], looks: dict[str, LabelLook]) -> list[Entry]:
    """Rows are [note, kind, first or null, second or null], a side is [start, end, code]. Erased notes are gone."""
    notes = {
        pk: (name, language, text)
        for pk, name, language, text in Document.objects.filter(pk__in={row[0] for row in rows}).values_list(
            "pk", "name", "language", "text"
        )
    }
    return [_entry(row, *notes[row[0]], looks) for row in rows if row[0] in notes]


def _entry(row: Sequence[Any], name: str, language: str, text: str, looks: dict[str, LabelLook]) -> Entry:
    note, kind, first, second = row
    sides = [side for side in (first, second) if side]
    start, end = min(side[0] for side in sides), max(side[1] for side in sides)
    low, high = around(text, start, end)
    return Entry(
        note=note,
        name=name,
        language=language,
        line=line_at(text, start),
        kind=kind,
        before=text[low:start],
        marked=text[start:end],
        after=text[end:high],
        cut_before=low > 0 and text[low - 1] not in "\r\n",
        cut_after=high < len(text) and text[high] not in "\r\n",
        first=_said(first, text, looks),
        second=_said(second, text, looks),
    )


def _said(side: Sequence[Any] | None, text: str, looks: dict[str, LabelLook]) -> Said | None:
    if not side:
        return None
    start, end, code = side
    return Said(looks.get(code) or LabelLook(code, code), text[start:end])


def note_names(notes: Iterable[int]) -> dict[int, str]:
    return dict(Document.objects.filter(pk__in=list(notes)).values_list("pk", "name"))
