"""Search in the original texts of the notes that a user may open, in steps on large projects."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from itertools import chain
from operator import and_
from typing import Any, Literal
from uuid import UUID

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Substr
from django.utils import timezone

from annotations import models
from annotations.core.access import Access, Can, notes_for
from annotations.core.bulk import batched
from annotations.text.search import CoveredParts, Sought, around, find, finder, grams
from annotations.text.spans import Bounds

# Searches are deleted after this time.
KEPT = timedelta(days=1)
# Limits of one page: notes with hits, hits listed per note, characters searched.
NOTES = 25
HITS = 10
CHARACTERS = 12_000_000
BATCH = 100

Where = Literal["all", "unlabeled", "label"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a search. `annotation_set` is the set that `where` refers to; `label` is used with where=label."""

    case: bool = False
    accents: bool = True
    word: bool = False
    where: Where = "all"
    label: int | None = None
    annotation_set: Literal["own", "gold"] = "own"

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Options":
        return cls(**{key: value for key, value in stored.items() if key in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Hit:
    """A match (code points, end-exclusive) with the text before, in and after it. `line` counts from 1."""

    start: int
    end: int
    line: int
    before: str
    found: str
    after: str


@dataclass(frozen=True, slots=True)
class NoteHits:
    """A note with its first hits. `annotate` is set if the user opens the note on the annotate page."""

    pk: int
    name: str
    hits: list[Hit]
    count: int
    annotate: bool

    @property
    def more(self) -> int:
        return self.count - len(self.hits)


@dataclass(frozen=True, slots=True)
class Results:
    """A page of results. `next` is the id of the last note searched, if there may be more hits after it.

    `stopped` is set if the page ended after CHARACTERS, before it was full.
    """

    notes: list[NoteHits]
    looked: int
    next: int | None
    stopped: bool

    @property
    def hits(self) -> int:
        return sum(note.count for note in self.notes)


def search_of(access: Access, pk: UUID) -> models.Search | None:
    """The user's own search in this project; None if it expired."""
    return _kept(access, models.SearchKind.TEXT).filter(pk=pk).first()


def recent_searches(access: Access) -> list[models.Search]:
    return list(_kept(access, models.SearchKind.TEXT).order_by("-created_at")[:8])


def searched_name(access: Access, token: str) -> str:
    """Text of the user's search in note names, by the token in the list's URL; empty if it expired."""
    try:
        pk = UUID(token)
    except ValueError:
        return ""
    return _kept(access, models.SearchKind.NAME).filter(pk=pk).values_list("text", flat=True).first() or ""


def _kept(access: Access, kind: models.SearchKind) -> QuerySet[models.Search]:
    rows = models.Search.objects.filter(project=access.project, user=access.user, kind=kind)
    return rows.filter(created_at__gt=timezone.now() - KEPT)


def query_of(search: models.Search) -> Sought:
    options = Options.of(search.options)
    return Sought(search.text, case=options.case, accents=options.accents, word=options.word)


def results(access: Access, search: models.Search, *, after: int = 0) -> Results:
    """Hits in the notes after the id `after`. Raises ValueError if the search text has nothing to search for."""
    options, wanted = Options.of(search.options), query_of(search)
    pattern, notes = finder(wanted), _notes(access, options).filter(pk__gt=after)
    found: list[NoteHits] = []
    characters = 0
    for batch in _batches(access.project.pk, wanted, notes, after):
        matches = {pk: list(find(text, pattern, word=wanted.word)) for pk, _, text in batch}
        hit = [pk for pk, there in matches.items() if there]
        matches |= _narrowed(access, options, {pk: matches[pk] for pk in hit})
        own = _own(access, hit) if hit else set()
        for pk, name, text in batch:
            characters += len(text)
            if matches[pk]:
                hits = _hits(text, matches[pk][:HITS])
                found.append(NoteHits(pk, name, hits, len(matches[pk]), access.blind or pk in own))
            if len(found) == NOTES or characters > CHARACTERS:
                return Results(found, notes.filter(pk__lte=pk).count(), pk, stopped=len(found) < NOTES)
    return Results(found, notes.count(), None, stopped=False)


def _notes(access: Access, options: Options) -> QuerySet[models.Document, Any]:
    """Notes to search. If labels matter, only notes that have the annotation set."""
    notes = notes_for(access)
    if options.where != "all":
        notes = notes.filter(pk__in=_annotation_sets(access, options).values("document_id"))
    return notes.order_by("pk").values_list("pk", "name", "text")


def _annotation_sets(access: Access, options: Options) -> QuerySet[models.AnnotationSet]:
    authors = models.Author.objects.filter(project_id=access.project.pk)
    if options.annotation_set == "gold" and access.can(Can.READ_NOTES):
        authors = authors.filter(kind=models.AuthorKind.GOLD)
        return models.AnnotationSet.objects.filter(author__in=authors, state=models.AnnotationSetState.SUBMITTED)
    return models.AnnotationSet.objects.filter(
        author__in=authors.filter(kind=models.AuthorKind.ANNOTATOR, user=access.user)
    )


def _batches(
    project: int, wanted: Sought, notes: "QuerySet[models.Document, Any]", after: int
) -> Iterator[list[tuple[int, str, str]]]:
    """Notes in batches, so that their spans need one query per batch: those of the index that may match, then others.

    Each query reads up to twice as many rows as the one before. A cursor would cost more: outside a transaction,
    PostgreSQL first copies the texts of all notes.
    """
    last, at_once, size = after, 1, models.NoteIndex.SIZE // 8
    hashes = [Value(each).bitrightshift(F("shift")) for each in grams(wanted)]  # type: ignore[arg-type] # a column, too
    bits = [Substr("bits", each * size + 1, size) for each in hashes]
    index = models.NoteIndex.objects.filter(project=project).order_by("last").values_list("last", "notes", *bits)
    while bits and (part := list(index.filter(last__gt=last)[:at_once])):
        matching = chain.from_iterable(_matching(ids, found) for _, ids, *found in part)
        for ids in batched(matching, BATCH):
            yield list(notes.filter(pk__in=ids))
        last, at_once = part[-1][0], at_once * 2
    at_once = BATCH
    while rows := list(notes.filter(pk__gt=last)[:at_once]):
        yield from batched(rows, BATCH)
        last = rows[-1][0]
        if sum(len(text) for _, _, text in rows) < CHARACTERS // 12:
            at_once *= 2


def _matching(notes: list[int], bits: list[bytes]) -> Iterator[int]:
    """The notes whose bits are set for all hashes."""
    left = reduce(and_, (int.from_bytes(each, "little") for each in bits))
    return (note for at, note in enumerate(notes) if left >> at & 1) if left else iter(())


def _narrowed(access: Access, options: Options, matches: dict[int, list[Bounds]]) -> dict[int, list[Bounds]]:
    """Matches in each note that lie as `where` says."""
    if options.where == "all" or not matches:
        return matches
    spans = models.Span.objects.filter(
        annotation_set__in=_annotation_sets(access, options).filter(document_id__in=matches)
    )
    if options.where == "label":
        spans = spans.filter(label_id=options.label or 0)
    marked: dict[int, list[Bounds]] = defaultdict(list)
    for note, start, end in spans.order_by().values_list("annotation_set__document_id", "start", "end"):
        marked[note].append((start, end))
    narrowed = {}
    for note, there in matches.items():
        covered = CoveredParts(marked[note])
        unlabeled = options.where == "unlabeled"
        narrowed[note] = [p for p in there if (not covered.wholly(*p) if unlabeled else covered.partly(*p))]
    return narrowed


def _own(access: Access, notes: Iterable[int]) -> set[int]:
    """Notes that are assigned to the user, for users who may see all notes."""
    if access.blind or not access.can(Can.ANNOTATE):
        return set()
    mine = models.Assignment.objects.filter(user_id=access.user.pk, document_id__in=notes)
    return set(mine.exclude(state=models.AssignmentState.RELEASED).values_list("document_id", flat=True))


def _hits(text: str, matches: list[tuple[int, int]]) -> list[Hit]:
    found, line, at = [], 1, 0
    for start, end in matches:
        line += _breaks(text, at, start)
        at = start
        before, middle, after = around(text, (start, end))
        found.append(Hit(start, end, line, before, middle, after))
    return found


def _breaks(text: str, start: int, end: int) -> int:
    """Number of line ends between two offsets. CR LF counts at its LF."""
    lone = sum(1 for at in range(start, end) if text[at] == "\r" and text[at + 1 : at + 2] != "\n")
    return text.count("\n", start, end) + lone
