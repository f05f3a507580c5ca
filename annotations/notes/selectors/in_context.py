"""Locations of notes in their sentences, with the spans of two annotation sets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpResponseBase
from ninja import Schema

from annotations.core.access import Access
from annotations.core.api.paging import Paging, paged
from annotations.core.api.requests import ApiRequest
from annotations.core.events import record_reads
from annotations.core.labels import UNDERLINES
from annotations.core.spans import attribute_words
from annotations.models import Document, Label, Project
from annotations.notes.selectors.annotation_sets import line_at
from annotations.projects.selectors.labels import shipped_set
from annotations.text.segments import around

HUES = 12
Row = TypeVar("Row", bound=Sequence[Any])
Found = TypeVar("Found")
RowOf = Callable[[Found], Sequence[Any]]
"""Gives the row (see `with_entries`) of something that was found in a note."""


@dataclass(frozen=True)
class LabelLook:
    """A label by its code, with its category's hue and underline."""

    code: str
    name: str
    hue: int = 0
    underline: int = 0


def label_looks(project: Project, into: str = "") -> dict[str, LabelLook]:
    """Looks of the project's labels by code, merged labels last; or of the labels of the shipped set `into`."""
    if into:
        found: dict[str, LabelLook] = {}
        categories = shipped_set(into).categories
        for position, category in enumerate(categories):
            hue, underline = position * HUES // len(categories), position % UNDERLINES
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
class LabeledText:
    """A span for display: its label, its text and its attributes, each as its name or its name and value."""

    look: LabelLook
    quote: str
    attributes: list[str]


@dataclass(frozen=True)
class Entry:
    """A location in its sentence. `first` and `second` are the spans of the two sets; None where a set has no span."""

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
    first: LabeledText | None
    second: LabeledText | None


def with_entries(rows: Sequence[Row], looks: dict[str, LabelLook]) -> list[tuple[Row, Entry]]:
    """Each row with its entry; rows of erased notes are left out.

    A row is [note id, kind, first span or null, second span or null]; a span is [start, end, code], with its attributes
    as a fourth item if it has some.
    """
    notes = {
        pk: (name, language, text)
        for pk, name, language, text in Document.objects.filter(pk__in={row[0] for row in rows}).values_list(
            "pk", "name", "language", "text"
        )
    }
    return [(row, _entry(row, *notes[row[0]], looks)) for row in rows if row[0] in notes]


def _entry(row: Sequence[Any], name: str, language: str, text: str, looks: dict[str, LabelLook]) -> Entry:
    note, kind, first, second = row
    spans = [span for span in (first, second) if span]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
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
        first=_labeled(first, text, looks),
        second=_labeled(second, text, looks),
    )


def _labeled(span: Sequence[Any] | None, text: str, looks: dict[str, LabelLook]) -> LabeledText | None:
    if not span:
        return None
    start, end, code, *more = span
    return LabeledText(
        looks.get(code) or LabelLook(code, code), text[start:end], attribute_words(more[0]) if more else []
    )


def note_names(notes: Iterable[int]) -> dict[int, str]:
    return dict(Document.objects.filter(pk__in=list(notes)).values_list("pk", "name"))


# Spans of notes in their sentences, on pages. Showing them counts as reading the note.


def shown_in_context(
    access: Access, rows: Sequence[Any], what: str, looks: dict[str, LabelLook] | None = None
) -> list[Entry]:
    """The entries of the rows (see `with_entries`). Records each of their notes as read.

    `what` is the kind of page, for the event. `looks` replaces the looks of the project's labels.
    """
    return [entry for _row, entry in with_context(access, rows, list, what, looks)]


def with_context(
    access: Access, found: Sequence[Found], row_of: RowOf[Found], what: str, looks: dict[str, LabelLook] | None = None
) -> list[tuple[Found, Entry]]:
    """What was found, each with its entry, as `shown_in_context`. What was found in erased notes is left out."""
    rows = [list(row_of(one)) for one in found]
    of_row = {id(row): one for row, one in zip(rows, found, strict=True)}
    shown = with_entries(rows, label_looks(access.project) if looks is None else looks)
    notes = (entry.note for _row, entry in shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what=what)
    return [(of_row[id(row)], entry) for row, entry in shown]


def sentence_of(entry: Entry) -> dict[str, Any]:
    """The note and the sentence of an entry, as the API gives them."""
    return {name: getattr(entry, name) for name in ("note", "name", "before", "marked", "after")}


def paged_in_context(
    request: ApiRequest, paging: Paging, access: Access, found: Sequence[Found], row_of: RowOf[Found],
    item: Callable[[Found, Entry], Schema], what: str,
) -> dict[str, Any] | HttpResponseBase:  # fmt: skip
    """A page of the API with what was found in notes, in sentences. Only the notes of the page count as read."""

    def fetch(after: int | None, size: int) -> list[tuple[int, Found, Entry]]:
        first = after or 0
        numbered = list(enumerate(found[first : first + size], first + 1))
        shown = with_context(access, numbered, lambda pair: row_of(pair[1]), what)
        return [(number, one, entry) for (number, one), entry in shown]

    return paged(request, paging, fetch, lambda row: item(*row[1:]), lambda row: row[0])
