"""Locations of notes in their sentences, with the spans of two annotation sets."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Count, QuerySet

from annotations.core.access import Access
from annotations.core.authors import IMPORTED
from annotations.core.labels import UNDERLINES, LabelItem
from annotations.core.services import record_reads
from annotations.core.spans import SpanItem, attribute_words
from annotations.core.suggestions import visible
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Label, Project, Span
from annotations.projects.selectors.labels import shipped_set
from annotations.text.segments import around

# All annotation sets of one note beside its gold, for members who may see all notes.


# Differences that the page lists.
LISTED = 50
_ORDER = [
    AuthorKind.GOLD,
    AuthorKind.ADJUDICATED,
    AuthorKind.ANNOTATOR,
    AuthorKind.REFINED,
    AuthorKind.RUN,
    AuthorKind.BENCH,
]


@dataclass(frozen=True)
class SetSummary:
    """One annotation set of a note: author, state and number of spans. `imported`: a file or an archive brought it."""

    pk: int
    name: str
    kind: str
    kind_name: str
    state: str
    state_name: str
    version: int
    changed: datetime
    spans: int
    imported: bool

    @property
    def is_gold(self) -> bool:
        return self.kind == AuthorKind.GOLD and self.is_submitted

    @property
    def is_review_draft(self) -> bool:
        """Whether this is the draft of an open review, which becomes gold when the review is finished."""
        return self.kind == AuthorKind.GOLD and not self.is_submitted

    @property
    def is_submitted(self) -> bool:
        return self.state == AnnotationSetState.SUBMITTED


def annotation_sets_of(sets: "QuerySet[AnnotationSet]") -> list[SetSummary]:
    """Summaries of a note's annotation sets: gold first, then people, then models."""
    counts = dict(
        visible(Span.objects.filter(annotation_set__in=sets.values("pk")))
        .order_by()
        .values_list("annotation_set")
        .annotate(count=Count("pk"))
    )
    found = [
        SetSummary(
            pk=row.pk,
            name=row.author.name,
            kind=row.author.kind,
            kind_name=row.author.get_kind_display(),
            state=row.state,
            state_name=row.get_state_display(),
            version=row.version,
            changed=row.submitted_at or row.updated_at,
            spans=counts.get(row.pk, 0),
            imported=row.imported_by_id is not None or row.author.name.endswith(IMPORTED),
        )
        for row in sets.select_related("author")
    ]
    return sorted(
        found, key=lambda annotation_set: (_ORDER.index(AuthorKind(annotation_set.kind)), annotation_set.name)
    )


def choose(annotation_sets: list[SetSummary], pk: int | None) -> SetSummary | None:
    """The set with this id; without an id gold, else a submitted set, else any. Raises LookupError for a wrong id."""
    if pk is None:
        return next(
            (one for one in annotation_sets if one.is_submitted), annotation_sets[0] if annotation_sets else None
        )
    found = next((one for one in annotation_sets if one.pk == pk), None)
    if found is None:
        raise LookupError(f"This note has no annotation set {pk}.")
    return found


@dataclass(frozen=True)
class Difference:
    """A span that only one of two annotation sets has, with its line and text."""

    line: int
    label: LabelItem | None
    quote: str


@dataclass(frozen=True)
class Comparison:
    """Comparison of an annotation set with gold. Spans are equal if both offsets and the label are."""

    same: int
    only_here: list[Difference]
    only_gold: list[Difference]
    only_here_count: int
    only_gold_count: int

    @property
    def differs(self) -> bool:
        return bool(self.only_here_count or self.only_gold_count)


def compare(text: str, here: list[SpanItem], gold: list[SpanItem], labels: list[LabelItem]) -> Comparison:
    """Compare two sets of spans. Lists the first LISTED differences of each, in text order."""
    by_id = {label["id"]: label for label in labels}
    mine, theirs = ({(s["start"], s["end"], s["label"]) for s in spans} for spans in (here, gold))

    def spell(bounds: set[tuple[int, int, int]]) -> list[Difference]:
        return [
            Difference(line_at(text, start), by_id.get(label), text[start:end])
            for start, end, label in sorted(bounds)[:LISTED]
        ]

    return Comparison(
        same=len(mine & theirs),
        only_here=spell(mine - theirs),
        only_gold=spell(theirs - mine),
        only_here_count=len(mine - theirs),
        only_gold_count=len(theirs - mine),
    )


def line_at(text: str, offset: int) -> int:
    """Number of the line (from 1) at a code point offset. CR LF, LF and CR end a line."""
    before = text[:offset]
    return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")


def label_counts(spans: list[SpanItem], labels: list[LabelItem]) -> list[tuple[LabelItem, int]]:
    """Labels used in an annotation set, in order, each with its number of spans."""
    counts = Counter(span["label"] for span in spans)
    return [(label, counts[label["id"]]) for label in labels if counts[label["id"]]]


HUES = 12
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


def look_of(looks: Mapping[str, LabelLook], code: str) -> LabelLook:
    """The look of a label; the bare code where the label is gone."""
    return looks.get(code) or LabelLook(code, code)


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
class InSentence:
    """A stretch of a text in its sentence. `cut_before`, `cut_after`: the line goes on there."""

    before: str
    marked: str
    after: str
    cut_before: bool
    cut_after: bool


def in_sentence(text: str, start: int, end: int) -> tuple[str, str, str, bool, bool]:
    """The fields of `InSentence` for a stretch (code points, end-exclusive)."""
    low, high = around(text, start, end)
    cut_before = low > 0 and text[low - 1] not in "\r\n"
    cut_after = high < len(text) and text[high] not in "\r\n"
    return text[low:start], text[start:end], text[end:high], cut_before, cut_after


@dataclass(frozen=True)
class Entry(InSentence):
    """A location in its sentence. `first` and `second` are the spans of the two sets; None where a set has no span."""

    note: int
    name: str
    language: str
    line: int
    kind: str
    first: LabeledText | None
    second: LabeledText | None


def with_entries(
    found: Sequence[Found], looks: dict[str, LabelLook], row_of: RowOf[Any] = list
) -> list[tuple[Found, Entry]]:
    """What was found, each with its entry; what was found in erased notes is left out.

    A row is [note id, kind, first span or null, second span or null]; a span is [start, end, code], with its attributes
    as a fourth item if it has some.
    """
    rows = [(one, row_of(one)) for one in found]
    documents = Document.objects.filter(pk__in={row[0] for _, row in rows})
    notes = {pk: about for pk, *about in documents.values_list("pk", "name", "language", "text")}
    return [(one, _entry(row, notes[row[0]], looks)) for one, row in rows if row[0] in notes]


def _entry(row: Sequence[Any], about: Sequence[str], looks: dict[str, LabelLook]) -> Entry:
    (note, kind, first, second), (name, language, text) = row, about
    spans = [span for span in (first, second) if span]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    return Entry(
        *in_sentence(text, start, end),
        note=note,
        name=name,
        language=language,
        line=line_at(text, start),
        kind=kind,
        first=_labeled(first, text, looks),
        second=_labeled(second, text, looks),
    )


def _labeled(span: Sequence[Any] | None, text: str, looks: dict[str, LabelLook]) -> LabeledText | None:
    if not span:
        return None
    start, end, code, *more = span
    return LabeledText(look_of(looks, code), text[start:end], attribute_words(more[0]) if more else [])


def note_names(notes: Iterable[int]) -> dict[int, str]:
    return dict(Document.objects.filter(pk__in=list(notes)).values_list("pk", "name"))


# Spans of notes in their sentences, on pages. Showing them counts as reading the note.


def with_context(
    access: Access, found: Sequence[Found], row_of: RowOf[Found], what: str, looks: dict[str, LabelLook] | None = None
) -> list[tuple[Found, Entry]]:
    """What was found, each with its entry (see `with_entries`). Records each of their notes as read.

    `what` is the kind of page, for the event. `looks` replaces the looks of the project's labels.
    """
    shown = with_entries(found, label_looks(access.project) if looks is None else looks, row_of)
    notes = (entry.note for _one, entry in shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what=what)
    return shown
