"""Counts of the gold standard, the authors that it can be made from, and its frozen versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from annotations.core.access import Access, Can, notes_for
from annotations.core.authors import SUBMITTED, gold_sets, review_drafts
from annotations.core.errors import ServiceError
from annotations.core.hooks import disagreements_shown
from annotations.core.requests import page_edges
from annotations.core.spans import pairs_of
from annotations.models import (
    AnnotationSet,
    Author,
    AuthorKind,
    Comparison,
    Document,
    GoldVersion,
    GoldVersionNote,
    Project,
    Span,
)
from annotations.models.notes import NOT_IN_BULK
from annotations.text.attributes import Value
from annotations.text.hashes import gold_hash
from annotations.text.names import MAX_OFFSET, whole

PAGE = 50
BATCH = 500
# Disputed notes that the page links to.
LISTED = 5
# Seconds for which a request may compare annotators.
COMPARING = 0.4


@dataclass(frozen=True)
class GoldCandidate:
    """An author whose submitted annotation sets can become gold.

    `free` counts the sets that would become gold, `in_review` those whose notes have a draft of a review, and
    `disputed` the free sets whose notes have unresolved disagreements.
    """

    author: int
    name: str
    kind: str
    submitted: int
    free: int
    in_review: int
    disputed: int

    @property
    def kind_name(self) -> str:
        return str(AuthorKind(self.kind).label)

    @property
    def has_gold(self) -> int:
        return self.submitted - self.free - self.in_review


@dataclass(frozen=True)
class GoldDifference:
    """How the gold differs from the last version. Freezing makes a new version unless it is the `same`.

    `touched` counts notes that are new or have other spans, `removed` notes that have no gold any more, and `erased`
    notes that were erased later.
    """

    same: bool
    touched: int = 0
    removed: int = 0
    erased: int = 0

    @property
    def counted(self) -> int:
        """0 if only names of notes differ."""
        return self.touched + self.removed + self.erased


@dataclass(frozen=True)
class DisputedNotes:
    """Notes with unresolved disagreements that have no gold: their number, and the ids and names of the first ones."""

    count: int
    notes: list[tuple[int, str]]


@dataclass(frozen=True)
class GoldState:
    notes: int
    spans: int
    in_review: int
    change: GoldDifference | None
    sources: list[GoldCandidate]
    disputed: DisputedNotes
    waiting: int

    @property
    def changed(self) -> bool:
        """Whether freezing would make a new version."""
        return bool(self.notes) and (self.change is None or not self.change.same)

    @property
    def free(self) -> int:
        return sum(source.free for source in self.sources)


def gold_state(project: Project, last: GoldVersion | None, *, annotators: bool = True, waiting: int = 0) -> GoldState:
    """Count gold notes and spans, and list the sources; without `annotators`, only sources that are not annotators.

    `waiting` is the number of notes whose annotators are still to be compared.

    Slow in a large project, because all gold spans are counted.
    """
    gold, drafts, disputed = gold_sets(project), review_drafts(project), _open_disagreements(project)
    return GoldState(
        notes=gold.count(),
        spans=Span.objects.filter(annotation_set__in=gold.order_by().values("pk")).count(),
        in_review=drafts.count(),
        change=change_since(project, last) if last else None,
        sources=[s for s in _sources(project, gold, drafts, disputed) if annotators or s.kind != AuthorKind.ANNOTATOR],
        disputed=_disputed(gold, disputed),
        waiting=waiting,
    )


def state_for(access: Access, last: GoldVersion | None) -> GoldState:
    """The counts for this person, without annotators whose names are hidden. Annotators are compared for a moment."""
    compares = access.can(Can.MAKE_GOLD)
    waiting = disagreements_shown(project=access.project, seconds=COMPARING) if compares else []
    return gold_state(access.project, last, annotators=not access.unnamed, waiting=sum(waiting))


GoldSpan = tuple[int, int, str, dict[str, Any] | None] | tuple[int, int, str, dict[str, Any] | None, dict[str, Value]]
"""Start, end (code points, end-exclusive), label code, provenance; for a span with attributes also these."""
GoldNotes = dict[int, tuple[str, str, list[GoldSpan]]]
"""The gold by document: name, text hash, and sorted spans."""


def gold_notes(project: Project) -> GoldNotes:
    """Read the whole gold standard, as the next version would contain it."""
    sets = gold_sets(project)
    notes: GoldNotes = {
        pk: (name, sha256, [])
        for pk, name, sha256 in sets.order_by("document_id").values_list(
            "document_id", "document__name", "document__sha256"
        )
    }
    spans = (
        Span.objects.filter(annotation_set__in=sets.order_by())
        .order_by("start", "end", "label__code")
        .values_list("annotation_set__document_id", "start", "end", "label__code", "provenance", "attributes")
    )
    for pk, start, end, code, provenance, attributes in spans.iterator(chunk_size=5000):
        row = (start, end, code, provenance)
        notes[pk][2].append((*row, attributes) if attributes else row)
    return notes


def content_hash_of(notes: GoldNotes) -> str:
    """The content hash of a version with these notes: of names, texts and spans, without provenance."""
    return gold_hash((name, sha256, map(hashed, spans)) for name, sha256, spans in notes.values())


def hashed(span: Sequence[Any]) -> tuple[Any, ...]:
    """What counts of a span of a version: start, end and label code, and its attributes if it has some."""
    start, end, code, _, *attributes = span
    return (start, end, code, *map(pairs_of, attributes))


def change_since(project: Project, version: GoldVersion) -> GoldDifference:
    """Compare the gold with a version by the content hash that freezing uses, and count the notes that differ."""
    now = gold_notes(project)
    if content_hash_of(now) == version.content_hash:
        return GoldDifference(same=True)
    touched, removed = len(now), 0
    frozen = GoldVersionNote.objects.filter(version=version).values_list("document_id", "spans")
    for note, spans in frozen.iterator(chunk_size=BATCH):
        if note not in now:
            removed += 1
        elif sorted(map(hashed, spans)) == sorted(map(hashed, now[note][2])):
            touched -= 1
    return GoldDifference(same=False, touched=touched, removed=removed, erased=version.erased_count)


def has_changed(project: Project, version: GoldVersion) -> bool:
    """Whether freezing now would make a new version. Reads the spans only if the numbers are the same."""
    gold = gold_sets(project)
    if gold.count() != version.note_count:
        return True
    if Span.objects.filter(annotation_set__in=gold.order_by().values("pk")).count() != version.span_count:
        return True
    return content_hash_of(gold_notes(project)) != version.content_hash


def _open_disagreements(project: Project) -> QuerySet[Comparison]:
    """The notes on which annotators disagree and whose adjudication is not finished, as far as they are compared."""
    authors = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).values_list("pk", flat=True)
    adjudicated = AnnotationSet.objects.filter(
        author_id=authors.first() or 0, state=SUBMITTED, document_id=OuterRef("document_id")
    )
    return Comparison.objects.filter(~Exists(adjudicated), project=project, disputed__gt=0)


def _disputed(gold: QuerySet[AnnotationSet], disputed: QuerySet[Comparison]) -> DisputedNotes:
    found = disputed.filter(~Exists(gold.filter(document_id=OuterRef("document_id")))).order_by("document_id")
    count = found.count()
    return DisputedNotes(count, list(found.values_list("document_id", "document__name")[:LISTED]) if count else [])


def _sources(
    project: Project, gold: QuerySet[AnnotationSet], drafts: QuerySet[AnnotationSet], disputed: QuerySet[Comparison]
) -> list[GoldCandidate]:
    authors = {a.pk: a for a in Author.objects.filter(project=project).exclude(kind__in=NOT_IN_BULK)}
    in_review = Exists(drafts.filter(document_id=OuterRef("document_id")))
    free = ~Q(Exists(gold.filter(document_id=OuterRef("document_id")))) & ~Q(in_review)
    differ = Exists(disputed.filter(document_id=OuterRef("document_id")))
    counts = (
        AnnotationSet.objects.filter(author_id__in=list(authors), state=SUBMITTED)
        .order_by()
        .values_list("author_id")
        .annotate(
            submitted=Count("pk"),
            free=Count("pk", filter=free),
            in_review=Count("pk", filter=Q(in_review)),
            disputed=Count("pk", filter=free & Q(differ)),
        )
    )
    found = [GoldCandidate(pk, authors[pk].name, authors[pk].kind, *numbers) for pk, *numbers in counts]
    order = [AuthorKind.ADJUDICATED, AuthorKind.ANNOTATOR]
    return sorted(
        found, key=lambda s: (order.index(AuthorKind(s.kind)) if s.kind in order else len(order), s.kind, s.name)
    )


def note_for_gold(access: Access, pk: int) -> Document:
    """A note without its text. Raises Http404."""
    found = notes_for(access).select_related("project").defer("text").filter(pk=pk).first()
    if found is None:
        raise Http404("This note does not exist.")
    return found


def gold_of(note: Document) -> AnnotationSet | None:
    """The note's gold, or the draft of its review."""
    return AnnotationSet.objects.filter(document=note, author__kind=AuthorKind.GOLD).first()


def version_rows(project: Project) -> QuerySet[GoldVersion]:
    """Query the frozen versions, newest first."""
    return GoldVersion.objects.filter(project=project).select_related("created_by")


def version_for(project: Project, number: int | None) -> GoldVersion:
    """Return the frozen version with this number. Raises Http404."""
    return get_object_or_404(version_rows(project), number=-1 if number is None else number)


def versions(project: Project) -> list[GoldVersion]:
    """List all frozen versions, newest first, to choose from."""
    return list(version_rows(project))


@dataclass(frozen=True)
class VersionNote:
    pk: int
    name: str
    spans: int
    split: str = ""


@dataclass(frozen=True)
class VersionPage:
    rows: list[VersionNote]
    previous: int | None
    next: int | None


def version_page(version: GoldVersion, *, after: int | None, before: int | None, size: int = PAGE) -> VersionPage:
    """Return one page of a version's notes, after or before a note's id."""
    notes = GoldVersionNote.objects.filter(version=version)
    if before is not None:
        notes = notes.filter(document_id__lt=before).order_by("-document_id")
    else:
        notes = notes.filter(document_id__gt=after or 0).order_by("document_id")
    found = [
        VersionNote(pk, name, len(spans), split)
        for pk, name, spans, split in notes.values_list("document_id", "document__name", "spans", "split")[: size + 1]
    ]
    rows = sorted(found[:size], key=lambda note: note.pk)
    ids = [row.pk for row in rows]
    return VersionPage(rows, *page_edges(ids, after=after, before=before, more=len(found) > size))


def of_kind(project: Project, kind: str) -> str:
    """Return how the names of exported files with the sets of one author of this kind begin.

    Such files are written by transfer.services.exporting.
    """
    return f"{project.slug}-{kind}-"


def frozen_version(project: Project, number: int | str) -> GoldVersion:
    """Return the gold version with this number. Raises ServiceError `version`, with the choices in its message."""
    versions, wanted = project.gold_versions.order_by("number"), whole(str(number), MAX_OFFSET)
    version = versions.filter(number=wanted).first() if wanted is not None else None
    if version is None:
        choices = ", ".join(map(str, versions.values_list("number", flat=True))) or gettext("none yet")
        message = gettext("There is no gold version %(number)s. Frozen versions: %(choices)s.")
        raise ServiceError(message % {"number": number, "choices": choices}, code="version")
    return version
