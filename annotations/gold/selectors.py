"""Counts of the gold standard, the authors that it can be made from, and its frozen versions."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotations.core.gold_sets import SUBMITTED, gold_sets
from annotations.models import AnnotationSet, Author, GoldVersion, GoldVersionNote, Project, Span
from annotations.models.author import NOT_IN_BULK

PAGE = 50


@dataclass(frozen=True)
class Source:
    """An author whose submitted annotation sets can become gold; `free` counts the sets of notes without gold."""

    pk: int
    name: str
    kind: str
    kind_name: str
    submitted: int
    free: int


@dataclass(frozen=True)
class Change:
    """How many gold notes changed, and how many lost their gold, after the last version was frozen."""

    touched: int
    removed: int


@dataclass(frozen=True)
class GoldState:
    notes: int
    spans: int
    change: Change | None
    sources: list[Source]

    @property
    def free(self) -> int:
        return sum(source.free for source in self.sources)


def gold_state(project: Project, last: GoldVersion | None, *, annotators: bool = True) -> GoldState:
    """Count gold notes and spans, and list the sources; without `annotators`, only sources that are not annotators.

    Slow in a large project, because all gold spans are counted.
    """
    gold = gold_sets(project)
    return GoldState(
        notes=gold.count(),
        spans=Span.objects.filter(annotation_set__in=gold.order_by().values("pk")).count(),
        change=_change(gold, last) if last else None,
        sources=[s for s in _sources(project, gold) if annotators or s.kind != Author.Kind.ANNOTATOR],
    )


def _change(gold: QuerySet[AnnotationSet], last: GoldVersion) -> Change:
    still = gold.filter(document_id=OuterRef("document_id"))
    return Change(
        touched=gold.filter(updated_at__gt=last.created_at).count(),
        removed=GoldVersionNote.objects.filter(~Exists(still), version=last).count(),
    )


def _sources(project: Project, gold: QuerySet[AnnotationSet]) -> list[Source]:
    authors = {a.pk: a for a in Author.objects.filter(project=project).exclude(kind__in=NOT_IN_BULK)}
    has_gold = Exists(gold.filter(document_id=OuterRef("document_id")))
    counts = (
        AnnotationSet.objects.filter(author_id__in=list(authors), state=SUBMITTED)
        .order_by()
        .values_list("author_id")
        .annotate(submitted=Count("pk"), free=Count("pk", filter=~has_gold & Q(pk__isnull=False)))
    )
    found = [
        Source(pk, authors[pk].name, authors[pk].kind, authors[pk].get_kind_display(), submitted, free)
        for pk, submitted, free in counts
    ]
    return sorted(found, key=lambda source: (source.kind != Author.Kind.ANNOTATOR, source.kind, source.name))


def version_rows(project: Project) -> QuerySet[GoldVersion]:
    """Query the frozen versions, newest first."""
    return GoldVersion.objects.filter(project=project).select_related("created_by")


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
    more = len(found) > size
    rows = sorted(found[:size], key=lambda note: note.pk)
    has_previous = more if before is not None else after is not None
    has_next = more if before is None else True
    return VersionPage(
        rows=rows,
        previous=rows[0].pk if rows and has_previous else None,
        next=rows[-1].pk if rows and has_next else None,
    )


def of_kind(project: Project, kind: str) -> str:
    """Return how the names of exported files with the sets of one author of this kind begin.

    Such files are written by transfer.services.exporting.
    """
    return f"{project.slug}-{kind}-"


def change_since(project: Project, last: GoldVersion) -> Change:
    """Count the gold notes that differ from the last version, without counting spans or sources."""
    return _change(gold_sets(project), last)
