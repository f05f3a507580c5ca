"""Searching the notes that a person may open: original text, exact offsets, in steps on large projects."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from annotations.core.access import Access, Can, notes_for
from annotations.domain.finding import Covered, Place, Sought, around, find, finder
from annotations.models import AnnotationSet, Assignment, Author, Document, Search, Span

# How long what was sought is kept.
KEPT = timedelta(days=1)
# One page: so many notes with hits, so many hits of a note spelt out, so many characters looked through.
NOTES = 25
HITS = 10
CHARACTERS = 12_000_000
BATCH = 100

Where = Literal["all", "unlabelled", "label"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a text is sought. `reading`: in whose spans `where` looks, one's own or gold; `label` with where=label."""

    case: bool = False
    accents: bool = True
    word: bool = False
    where: Where = "all"
    label: int | None = None
    reading: Literal["own", "gold"] = "own"

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Options":
        return cls(**{key: value for key, value in stored.items() if key in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Hit:
    """A place (code points, end-exclusive) with what stands before, in and after it; `line` counts from 1."""

    start: int
    end: int
    line: int
    before: str
    found: str
    after: str


@dataclass(frozen=True, slots=True)
class NoteHits:
    """A note with its first hits; `annotate`: this person's page for it is the workbench."""

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
    """One page. `next`: the id of the last note looked at, where there may be more after it; `stopped`: the page ended
    because much was looked through, not because it is full."""

    notes: list[NoteHits]
    looked: int
    next: int | None
    stopped: bool

    @property
    def hits(self) -> int:
        return sum(note.count for note in self.notes)


def search_of(access: Access, pk: UUID) -> Search | None:
    """A person's own search in this project, unless it is too old."""
    return _kept(access, Search.Kind.TEXT).filter(pk=pk).first()


def recent_searches(access: Access, most: int = 8) -> list[Search]:
    return list(_kept(access, Search.Kind.TEXT).order_by("-created_at")[:most])


def name_sought(access: Access, token: str) -> str:
    """What a person sought in the names of notes, by the token in the list's address; empty where it isn't kept."""
    try:
        pk = UUID(token)
    except ValueError:
        return ""
    return _kept(access, Search.Kind.NAME).filter(pk=pk).values_list("text", flat=True).first() or ""


def _kept(access: Access, kind: Search.Kind) -> QuerySet[Search]:
    rows = Search.objects.filter(project=access.project, user=access.user, kind=kind)
    return rows.filter(created_at__gt=timezone.now() - KEPT)


def sought(search: Search) -> Sought:
    options = Options.of(search.options)
    return Sought(search.text, case=options.case, accents=options.accents, word=options.word)


def results(access: Access, search: Search, *, after: int = 0) -> Results:
    """The hits in the notes after one, by note id. Raises ValueError where there is nothing to look for."""
    options, wanted = Options.of(search.options), sought(search)
    pattern = finder(wanted)
    found: list[NoteHits] = []
    state = _State()
    for batch in _batches(_notes(access, options, after)):
        places = {pk: list(find(text, pattern, word=wanted.word)) for pk, _, text in batch}
        hit = [pk for pk, there in places.items() if there]
        places |= _narrowed(access, options, {pk: places[pk] for pk in hit})
        own = _own(access, hit) if hit else set()
        for pk, name, text in batch:
            state.saw(pk, text)
            if places[pk]:
                hits = _hits(text, places[pk][:HITS])
                found.append(NoteHits(pk, name, hits, len(places[pk]), access.blind or pk in own))
            if len(found) == NOTES or state.characters > CHARACTERS:
                return Results(found, state.notes, state.last, stopped=len(found) < NOTES)
    return Results(found, state.notes, None, stopped=False)


@dataclass
class _State:
    """How far a search is."""

    notes: int = 0
    characters: int = 0
    last: int = 0

    def saw(self, pk: int, text: str) -> None:
        self.notes += 1
        self.characters += len(text)
        self.last = pk


def _notes(access: Access, options: Options, after: int) -> QuerySet[Document, Any]:
    """Where labels matter, only notes that have that reading: all of an unread note is unlabelled."""
    notes = notes_for(access).filter(pk__gt=after)
    if options.where != "all":
        notes = notes.filter(pk__in=_readings(access, options).values("document_id"))
    return notes.order_by("pk").values_list("pk", "name", "text")


def _readings(access: Access, options: Options) -> QuerySet[AnnotationSet]:
    authors = Author.objects.filter(project_id=access.project.pk)
    if options.reading == "gold" and access.can(Can.READ_NOTES):
        authors = authors.filter(kind=Author.Kind.GOLD)
        return AnnotationSet.objects.filter(author__in=authors, state=AnnotationSet.State.SUBMITTED)
    return AnnotationSet.objects.filter(author__in=authors.filter(kind=Author.Kind.ANNOTATOR, user=access.user))


def _batches(rows: "QuerySet[Document, Any]") -> Iterator[list[tuple[int, str, str]]]:
    """Some notes at a time: their spans are then read at once."""
    stream = iter(rows.iterator(chunk_size=BATCH))
    while batch := list(islice(stream, BATCH)):
        yield batch


def _narrowed(access: Access, options: Options, places: dict[int, list[Place]]) -> dict[int, list[Place]]:
    """Of the places in each note those that lie as `where` says."""
    if options.where == "all" or not places:
        return places
    spans = Span.objects.filter(annotation_set__in=_readings(access, options).filter(document_id__in=places))
    if options.where == "label":
        spans = spans.filter(label_id=options.label or 0)
    marked: dict[int, list[Place]] = defaultdict(list)
    for note, start, end in spans.order_by().values_list("annotation_set__document_id", "start", "end"):
        marked[note].append((start, end))
    narrowed = {}
    for note, there in places.items():
        covered = Covered(marked[note])
        unlabelled = options.where == "unlabelled"
        narrowed[note] = [p for p in there if (not covered.wholly(*p) if unlabelled else covered.partly(*p))]
    return narrowed


def _own(access: Access, notes: Iterable[int]) -> set[int]:
    """Which of the notes a person who may read all of them has to annotate."""
    if access.blind or not access.can(Can.ANNOTATE):
        return set()
    mine = Assignment.objects.filter(user_id=access.user.pk, document_id__in=notes)
    return set(mine.exclude(state=Assignment.State.RELEASED).values_list("document_id", flat=True))


def _hits(text: str, places: list[tuple[int, int]]) -> list[Hit]:
    found, line, at = [], 1, 0
    for start, end in places:
        line += _breaks(text, at, start)
        at = start
        before, middle, after = around(text, (start, end))
        found.append(Hit(start, end, line, before, middle, after))
    return found


def _breaks(text: str, start: int, end: int) -> int:
    """How many lines end between two offsets; CR LF counts where its LF lies."""
    lone = sum(1 for at in range(start, end) if text[at] == "\r" and text[at + 1 : at + 2] != "\n")
    return text.count("\n", start, end) + lone
