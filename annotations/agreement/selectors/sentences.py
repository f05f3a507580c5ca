"""Sentences in which annotators disagree: one row for each, one column for each annotator (Catelli 2021, table 3.4)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.agreement.rules.disagreement import TagRows, bio_rows
from annotations.agreement.selectors.disagreements import Filters, annotation_sets_in, differences, following, windows
from annotations.core.authors import annotator_names
from annotations.formats.files.csv_files import csv_line
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Label, Project
from annotations.text.segments import around

SENTENCES = 20
"""On one page."""
# Notes and locations that are read at once.
BATCH, LOCATIONS = 20, 1000


@dataclass(frozen=True)
class Stretch:
    """The locations of one sentence: from the start of the first to the end of the last, which starts at `last`."""

    document_id: int
    start: int
    end: int
    last: int


@dataclass(frozen=True)
class Sentence:
    """A sentence with each annotator's tags. `names` are the annotators by the keys of `rows.tags`."""

    note: Document
    stretch: Stretch
    rows: TagRows
    names: dict[str, str]

    @property
    def text(self) -> str:
        return self.note.text[self.rows.start : self.rows.end]

    @property
    def tokens(self) -> list[str]:
        return [self.note.text[token.start : token.end] for token in self.rows.tokens]

    def tags(self, column: str) -> list[str] | None:
        """The tags of the annotator with this name; None if the annotator has no counted annotations of the note."""
        author = next((author for author, name in self.names.items() if name == column), "")
        return self.rows.tags.get(author)


def sentences(
    project: Project, filters: Filters, *, hidden: bool, after: tuple[int, int] | None = None
) -> Iterator[Sentence]:
    """The sentences in order, after the location `after` (note id and start). `hidden` replaces the annotators' names.

    Bring the comparisons up to date before. The notes are read in batches.
    """
    order = list(Label.objects.filter(label_set__project=project).values_list("code", flat=True))
    batch: list[tuple[int, list[tuple[int, int]]]] = []
    for note in _notes(project, filters, after):
        batch.append(note)
        if len(batch) == BATCH:
            yield from _in_context(project, batch, filters, order, hidden=hidden)
            batch = []
    yield from _in_context(project, batch, filters, order, hidden=hidden)


def _notes(
    project: Project, filters: Filters, after: tuple[int, int] | None
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield each note with the bounds of its locations."""
    for document, group in groupby(_locations(project, filters, after), key=lambda row: row[0]):
        yield document, [(start, end) for _document, start, end in group]


def _locations(project: Project, filters: Filters, after: tuple[int, int] | None) -> Iterator[tuple[int, int, int]]:
    columns = ("document_id", "start", "end")
    while batch := list(following(differences(project, filters), after).values_list(*columns)[:LOCATIONS]):
        yield from batch
        after = batch[-1][:2]


def _in_context(
    project: Project, batch: Sequence[tuple[int, list[tuple[int, int]]]], filters: Filters, order: Sequence[str], *,
    hidden: bool,
) -> Iterator[Sentence]:  # fmt: skip
    ids = [document for document, _bounds in batch]
    notes = Document.objects.filter(project=project).in_bulk(ids)
    found = [each for pk, bounds in batch if pk in notes for each in stretches(notes[pk], bounds)]
    annotation_sets = annotation_sets_in(
        ids, windows(((each.document_id, each.start, each.end) for each in found), notes), everyone=filters.everyone
    )
    names = annotator_names(ids, hidden=hidden)
    for stretch in found:
        note, called = notes[stretch.document_id], names.get(stretch.document_id, {})
        own = annotation_sets.get(note.pk, {})
        own = {author: own[author] for author in called if author in own}
        yield Sentence(note, stretch, bio_rows(note.text, stretch.start, stretch.end, own, label_order=order), called)


def stretches(note: Document, bounds: Iterable[tuple[int, int]]) -> list[Stretch]:
    """Join the locations of each sentence; `bounds` are in order."""
    found: list[Stretch] = []
    high = -1
    for start, end in bounds:
        if found and around(note.text, start, end)[0] < high:
            found[-1] = Stretch(note.pk, found[-1].start, max(end, found[-1].end), start)
        else:
            found.append(Stretch(note.pk, start, end, start))
        high = around(note.text, found[-1].start, found[-1].end)[1]
    return found


def columns(project: Project, *, hidden: bool) -> list[str]:
    """The names of all columns: the project's annotators; if hidden, as many numbers as a note has annotators."""
    sets = AnnotationSet.objects.filter(author__project=project, author__kind=AuthorKind.ANNOTATOR).exclude(
        state=AnnotationSetState.WITHDRAWN
    )
    if hidden:
        counts = (
            sets.order_by().values("document_id").annotate(n=Count("pk")).order_by("-n").values_list("n", flat=True)
        )
        return [_("Annotator %(n)d") % {"n": number} for number in range(1, (counts.first() or 0) + 1)]
    names = sets.filter(state=AnnotationSetState.SUBMITTED).order_by().values_list("author__name", flat=True)
    return sorted(names.distinct(), key=str.casefold)


def sentence_lines(project: Project, filters: Filters, *, hidden: bool) -> Iterator[str]:
    """CSV by RFC 4180 with a header row. Tokens and tags are separated by spaces; offsets are code points."""
    names = columns(project, hidden=hidden)
    yield csv_line(["note", "start", "end", "sentence", "tokens", *names])
    for each in sentences(project, filters, hidden=hidden):
        tags = [" ".join(each.tags(name) or []) for name in names]
        yield csv_line([each.note.name, each.rows.start, each.rows.end, each.text, " ".join(each.tokens), *tags])


def used_columns(found: Sequence[Sentence], every: Sequence[str]) -> list[str]:
    """Those of the columns that these sentences fill."""
    used = {each.names[author] for each in found for author in each.rows.tags}
    return [column for column in every if column in used]
