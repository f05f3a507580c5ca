"""Counts of the gold standard, the authors that it can be made from, and its frozen versions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from annotations.core.access import Access, Can, notes_for
from annotations.core.authors import SUBMITTED, gold_sets, review_drafts
from annotations.core.bulk import among, in_batches, page_edges
from annotations.core.hooks import disagreements_shown
from annotations.core.services import ServiceError
from annotations.core.spans import pairs_of
from annotations.gold.rules import ChangeKind, diff
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Author,
    AuthorKind,
    ChangedGold,
    Comparison,
    Document,
    GoldVersion,
    GoldVersionNote,
    Project,
    Review,
    Span,
)
from annotations.models.notes import NOT_IN_BULK
from annotations.projects.selectors.projects import CountedRows
from annotations.text.attributes import Value
from annotations.text.names import MAX_OFFSET, whole_number
from annotations.text.spans import Span as DomainSpan

PAGE = 50
BATCH = 500
# Disputed notes that the page links to.
LISTED = 5


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
class DisputedNotes:
    """Notes with unresolved disagreements that have no gold: their number, and the ids and names of the first ones."""

    count: int
    notes: list[tuple[int, str]]


@dataclass(frozen=True)
class GoldState:
    notes: int
    spans: int
    in_review: int
    change: Difference | None
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
    """
    gold, drafts = gold_sets(project), review_drafts(project)
    notes = gold.count()
    disputed, disputed_sets = _disputed(project, gold, drafts)
    change, spans = difference(last) if last else None, Span.objects.filter(annotation_set__in=gold.values("pk"))
    return GoldState(
        notes=notes,
        spans=last.span_count if last and change and change.same else spans.count(),
        in_review=drafts.count(),
        change=change,
        sources=[
            source
            for source in _sources(project, gold, drafts, disputed_sets)
            if annotators or source.kind != AuthorKind.ANNOTATOR
        ],
        disputed=disputed,
        waiting=waiting,
    )


def state_for(access: Access, last: GoldVersion | None) -> GoldState:
    """The counts for this person, without annotators whose names are hidden. A few notes are compared before."""
    compares = access.can(Can.MAKE_GOLD)
    waiting = disagreements_shown(project=access.project) if compares else []
    return gold_state(access.project, last, annotators=not access.unnamed, waiting=sum(waiting))


def _open_disagreements(project: Project) -> QuerySet[Comparison]:
    """The notes on which annotators disagree and whose adjudication is not finished, as far as they are compared."""
    found = Comparison.objects.filter(project=project, disputed__gt=0)
    authors = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).values_list("pk", flat=True)
    if (author := authors.first()) is None:
        return found
    adjudicated = AnnotationSet.objects.filter(author_id=author, state=SUBMITTED, document_id=OuterRef("document_id"))
    return found.filter(~Exists(adjudicated))


def _disputed(
    project: Project, gold: QuerySet[AnnotationSet], drafts: QuerySet[AnnotationSet]
) -> tuple[DisputedNotes, Counter[int]]:
    """The disputed notes without gold, and how many of them each author submitted, by id, without notes in review."""
    here = {"document_id": OuterRef("document_id")}
    found = _open_disagreements(project).filter(~Exists(gold.filter(**here))).order_by()
    groups = list(found.values_list("authors").annotate(notes=Count("*"), first=Min("document_id")))
    if not groups:
        return DisputedNotes(0, []), Counter()
    # From the first on, the database reads five notes along an index, not all that have gold before them.
    following = found.filter(document_id__gte=min(first for *_counted, first in groups)).order_by("document_id")
    listed = list(following.values_list("document_id", flat=True)[:LISTED])
    names = Document.objects.filter(pk__in=listed).order_by("pk").values_list("pk", "name")
    by_author = _by_author((authors, notes) for authors, notes, _first in groups)
    if drafts.exists():
        in_review = found.filter(Exists(drafts.filter(**here)))
        by_author -= _by_author(in_review.values_list("authors").annotate(notes=Count("*")))
    return DisputedNotes(sum(notes for _authors, notes, _first in groups), list(names)), by_author


def _by_author(groups: Iterable[tuple[str, int]]) -> Counter[int]:
    """The numbers of notes by author id, from those by authors as comparisons list them."""
    found: Counter[int] = Counter()
    for authors, notes in groups:
        found.update(dict.fromkeys(map(int, authors.strip(",").split(",")), notes))
    return found


def _sources(
    project: Project, gold: QuerySet[AnnotationSet], drafts: QuerySet[AnnotationSet], disputed: Counter[int]
) -> list[GoldCandidate]:
    own = AnnotationSet.objects.filter(author=OuterRef("pk"), state=SUBMITTED)
    golden = CountedRows(own.filter(document__in=gold.order_by().values("document")))
    found: Any = Author.objects.filter(project=project).exclude(kind__in=NOT_IN_BULK)
    authors = list(found.annotate(submitted=CountedRows(own), golden=golden))
    reviewed: dict[int, int] = {}
    if drafts.exists():  # Otherwise every set would be read to find none.
        sets = AnnotationSet.objects.filter(author__in=authors, state=SUBMITTED).order_by()
        sets = sets.filter(document__in=drafts.order_by().values("document"))
        reviewed = dict(sets.values_list("author_id").annotate(n=Count("*")))
    candidates = []
    for one in authors:
        if one.submitted:
            in_review = reviewed.get(one.pk, 0)
            free = one.submitted - one.golden - in_review
            # A set that was withdrawn since its note was compared is no longer free.
            differing = min(disputed[one.pk], free)
            candidates.append(GoldCandidate(one.pk, one.name, one.kind, one.submitted, free, in_review, differing))
    order = [AuthorKind.ADJUDICATED, AuthorKind.ANNOTATOR]
    return sorted(
        candidates, key=lambda s: (order.index(AuthorKind(s.kind)) if s.kind in order else len(order), s.kind, s.name)
    )


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
    submitted = AnnotationSet.objects.filter(author__kind=AuthorKind.ANNOTATOR, state=SUBMITTED, **notes)
    people = set(submitted.order_by().values_list("author__user", flat=True).distinct())
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
