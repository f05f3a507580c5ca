"""Sentences in which annotators disagree: one row for each, one column for each annotator (Catelli 2021, table 3.4)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, starmap
from operator import itemgetter
from typing import NamedTuple

from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.agreement.selectors.disagreements import Filters, Sentence, codes, differences, following, in_sentences
from annotations.formats.files.csv_files import csv_line
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Project
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


class SentenceView(NamedTuple):
    """A sentence with disagreements as the page shows it."""

    stretch: Stretch
    sentence: Sentence


def sentences(
    project: Project, filters: Filters, *, hidden: bool, after: tuple[int, int] | None = None
) -> Iterator[SentenceView]:
    """The sentences in order, after the location `after` (note id and start). `hidden` replaces the annotators' names.

    Bring the comparisons up to date before. The notes are read in batches.
    """
    order = codes(project)
    rows = groupby(_locations(project, filters, after), key=itemgetter(0))
    found = ((document, [(start, end) for _document, start, end in group]) for document, group in rows)
    while batch := dict(islice(found, BATCH)):
        notes = Document.objects.filter(project=project).in_bulk(batch)
        places = [place for pk, bounds in batch.items() if pk in notes for place in stretches(notes[pk], bounds)]
        shown = in_sentences(places, notes, order, everyone=filters.everyone, hidden=hidden)
        yield from starmap(SentenceView, shown)


def _locations(project: Project, filters: Filters, after: tuple[int, int] | None) -> Iterator[tuple[int, int, int]]:
    columns = ("document_id", "start", "end")
    while batch := list(following(differences(project, filters), after).values_list(*columns)[:LOCATIONS]):
        yield from batch
        after = batch[-1][:2]


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
    for _stretch, each in sentences(project, filters, hidden=hidden):
        tags = [" ".join(each.tags.get(name, ())) for name in names]
        yield csv_line([each.note.name, each.start, each.end, each.text, " ".join(each.tokens), *tags])


def used_columns(found: Sequence[SentenceView], every: Sequence[str]) -> list[str]:
    """Those of the columns that these sentences fill."""
    used = {name for shown in found for name in shown.sentence.tags}
    return [column for column in every if column in used]
