"""The gold standard, its frozen versions, and how they differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from annotations.core.access import Access, notes_for
from annotations.core.authors import SUBMITTED, gold_sets
from annotations.core.bulk import among, in_batches, page_edges
from annotations.core.services import ServiceError
from annotations.core.spans import pairs_of
from annotations.gold.rules import ChangeKind, diff
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Author,
    AuthorKind,
    ChangedGold,
    Document,
    GoldVersion,
    GoldVersionNote,
    Project,
    Review,
    Span,
)
from annotations.projects.selectors.projects import CountedRows
from annotations.text.attributes import Value
from annotations.text.names import MAX_OFFSET, whole_number
from annotations.text.spans import Span as DomainSpan

PAGE = 50
BATCH = 500


GoldSpan = tuple[int, int, str, dict[str, Any] | None] | tuple[int, int, str, dict[str, Any] | None, dict[str, Value]]
"""Start, end (code points, end-exclusive), label code, provenance; for a span with attributes also these."""


# How the current gold differs from a version.


# Of more notes whose gold was changed, the spans are not compared while somebody waits.
MOST_COMPARED = 2_000


@dataclass(frozen=True)
class Difference:
    """`touched` notes are new or have other spans, `removed` have no gold any more, `erased` were erased later.

    `spans` differ, `labels` of them only in their label. They are None if more than MOST_COMPARED notes were changed,
    which then all count as touched.
    """

    touched: int
    removed: int
    erased: int
    spans: int | None
    labels: int | None

    @property
    def notes(self) -> int:
        """The notes that differ; one that was erased is no difference of gold."""
        return self.touched + self.removed

    @property
    def same(self) -> bool:
        """Whether freezing would make no new version."""
        return not (self.notes or self.erased)


def _differing(version: GoldVersion) -> tuple[dict[int, int], list[int]]:
    """The current gold sets by note that aren't those of the last version, and its notes that have no gold now.

    Every write to a gold set increases its version, and a set that is made again has another id. A trigger lists the
    notes whose gold changed. Where these are many, two whole lists are compared: a join takes PostgreSQL a minute as
    long as it has no statistics of a version that was just frozen.
    """
    sets, frozen = gold_sets(version.project).order_by(), version.notes.order_by()
    changed = ChangedGold.objects.filter(project_id=version.project_id).order_by().values_list("document_id", flat=True)
    if len(notes := list(changed.distinct()[: MOST_COMPARED + 1])) <= MOST_COMPARED:
        few = among(notes)
        sets, frozen = sets.filter(document__in=few), frozen.filter(document__in=few)
    touched = sets.values_list("document_id", "pk", "version").difference(
        frozen.values_list("document_id", "gold", "gold_number")
    )
    removed = frozen.values_list("document_id", flat=True).difference(sets.values_list("document_id", flat=True))
    return {note: pk for note, pk, _number in touched}, list(removed)


def difference(version: GoldVersion) -> Difference:
    """How the current gold differs from the last version. Reads only notes whose gold was changed."""
    touched, removed = _differing(version)
    notes = version.notes.order_by()
    known = set(notes.filter(document__in=among(touched)).values_list("document_id", flat=True))
    if len(known) > MOST_COMPARED:
        return Difference(len(touched), len(removed), version.erased_count, None, None)
    new = [gold for document, gold in touched.items() if document not in known]
    spans = Span.objects.filter(annotation_set__in=among(new)).count() if new else 0
    spans += sum(len(each) for each in notes.filter(document__in=among(removed)).values_list("spans", flat=True))
    found = [changes for before, after in _changed(version, touched, known) if (changes := diff(before, after))]
    return Difference(
        touched=len(new) + len(found),
        removed=len(removed),
        erased=version.erased_count,
        spans=spans + sum(map(len, found)),
        labels=sum(change.kind == ChangeKind.RELABELED for changes in found for change in changes),
    )


def has_changed(version: GoldVersion) -> bool:
    """Whether freezing would make a new version after this last one. Stops at the first note that differs."""
    touched, removed = _differing(version)
    if version.erased_count or removed:
        return True
    if version.notes.filter(document__in=among(touched)).count() < len(touched):
        return True
    return any(diff(before, after) for before, after in _changed(version, touched, touched))


def _changed(
    version: GoldVersion, golds: Mapping[int, int], notes: Iterable[int]
) -> Iterator[tuple[list[DomainSpan], list[DomainSpan]]]:
    """The frozen and the current spans of notes of the version. `golds`: their gold sets."""
    rows = GoldVersionNote.objects.filter(version=version, document__in=among(notes))
    for some in in_batches(rows.values_list("document_id", "spans"), BATCH, by="document_id"):
        current = gold_spans([golds[document] for document, _spans in some])
        for document, spans in some:
            yield list(map(span_of, spans)), list(map(span_of, current[golds[document]]))


def span_of(row: Sequence[Any]) -> DomainSpan:
    """A span of a version: start, end, label code, provenance, and attributes if it has some."""
    return DomainSpan(row[0], row[1], row[2], attributes=pairs_of(row[4] if len(row) > 4 else None))


@dataclass(frozen=True)
class GoldNote:
    """The gold of a note: the gold set with its version, and sorted spans."""

    document: int
    name: str
    sha256: str
    gold: int
    number: int
    spans: list[GoldSpan]


def gold_notes(project: Project) -> Iterator[list[GoldNote]]:
    """The whole gold standard, as the next version would contain it, BATCH notes at a time."""
    columns = ("document_id", "document__name", "document__sha256", "pk", "version")
    for some in in_batches(gold_sets(project).values_list(*columns), BATCH, by="document_id"):
        spans = gold_spans([row[3] for row in some])
        yield [GoldNote(note, name, sha256, gold, number, spans[gold]) for note, name, sha256, gold, number in some]


def gold_spans(golds: Sequence[int]) -> dict[int, list[GoldSpan]]:
    """The sorted spans of these gold sets."""
    found: dict[int, list[GoldSpan]] = {pk: [] for pk in golds}
    spans = Span.objects.filter(annotation_set__in=golds).order_by("start", "end", "label__code")
    columns = ("annotation_set_id", "start", "end", "label__code", "provenance", "attributes")
    for pk, start, end, code, provenance, attributes in spans.values_list(*columns):
        row = (start, end, code, provenance)
        found[pk].append((*row, attributes) if attributes else row)
    return found


def hashed(span: Sequence[Any]) -> tuple[Any, ...]:
    """What counts of a span of a version: start, end and label code, and its attributes if it has some."""
    start, end, code, _, *attributes = span
    return (start, end, code, *map(pairs_of, attributes))


def note_for_gold(access: Access, pk: int) -> Document:
    """A note without its text. Raises Http404."""
    return get_object_or_404(notes_for(access).select_related("project").defer("text"), pk=pk)


def gold_of(note: Document) -> AnnotationSet | None:
    """The note's gold, or the draft of its review."""
    return AnnotationSet.objects.filter(document=note, author__kind=AuthorKind.GOLD).first()


def version_rows(project: Project) -> QuerySet[GoldVersion]:
    """Query the frozen versions, newest first."""
    return GoldVersion.objects.filter(project=project).select_related("created_by")


def version_for(project: Project, number: int | None) -> GoldVersion:
    """Return the frozen version with this number. Raises Http404."""
    return get_object_or_404(version_rows(project), number=-1 if number is None else number)


def is_by_one_person(version: GoldVersion) -> bool:
    """Whether one person annotated, adjudicated and reviewed all notes of a version, and nobody else any of them."""
    notes = {"document_id__in": GoldVersionNote.objects.filter(version=version).order_by().values("document_id")}
    own = AnnotationSet.objects.filter(author=OuterRef("pk"), state=SUBMITTED, **notes)
    annotators = Author.objects.filter(project=version.project_id, kind=AuthorKind.ANNOTATOR).order_by()
    # For each annotator, one set is enough, and not all sets are read.
    people = {user for user, sets in annotators.values_list("user", CountedRows(own, 1)) if sets}
    for done in (Adjudication, Review):
        finished = done.objects.filter(finished_by__isnull=False, **notes)
        people |= set(finished.order_by().values_list("finished_by", flat=True).distinct())
    return len(people) == 1 and None not in people


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
    versions, wanted = project.gold_versions.order_by("number"), whole_number(str(number), MAX_OFFSET)
    version = versions.filter(number=wanted).first() if wanted is not None else None
    if version is None:
        choices = ", ".join(map(str, versions.values_list("number", flat=True))) or gettext("none yet")
        message = gettext("There is no gold version %(number)s. Frozen versions: %(choices)s.")
        raise ServiceError(message % {"number": number, "choices": choices}, code="version")
    return version
