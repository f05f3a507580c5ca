"""Counts of the gold standard, and the authors that it can be made from."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, QuerySet

from annotations.core.access import Access, Can
from annotations.core.authors import SUBMITTED, gold_sets, review_drafts
from annotations.core.hooks import disagreements_shown
from annotations.gold.selectors import Difference, difference
from annotations.models import (
    AnnotationSet,
    Author,
    AuthorKind,
    Comparison,
    Document,
    GoldVersion,
    Project,
    Span,
    Stale,
)
from annotations.models.notes import NOT_IN_BULK
from annotations.projects.selectors.projects import CountedRows

# Disputed notes that the page links to.
LISTED = 5


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


def _golden(project: Project, gold: QuerySet[AnnotationSet], authors: Iterable[Author]) -> Counter[int]:
    """How many notes with gold each of these authors submitted, by id."""
    sets = gold.order_by().values("document")
    found: Counter[int] = Counter()
    # One look at the notes with gold counts them for all annotators, but only if every note is compared.
    compared = not Stale.objects.filter(
        Exists(Document.objects.filter(project=project, pk=OuterRef("document_id")))
    ).exists()
    if compared:
        notes = Comparison.objects.filter(project=project, document__in=sets).order_by()
        found = _by_author(notes.values_list("authors").annotate(notes=Count("*")))
    others = [one.pk for one in authors if not compared or one.kind != AuthorKind.ANNOTATOR]
    own = CountedRows(AnnotationSet.objects.filter(author=OuterRef("pk"), state=SUBMITTED, document__in=sets))
    found.update(dict(Author.objects.filter(pk__in=others).values_list("pk", own)))
    return found


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
    found: Any = Author.objects.filter(project=project).exclude(kind__in=NOT_IN_BULK)
    authors = list(found.annotate(submitted=CountedRows(own)))
    golden = _golden(project, gold, authors)
    reviewed: dict[int, int] = {}
    if drafts.exists():  # Otherwise every set would be read to find none.
        sets = AnnotationSet.objects.filter(author__in=authors, state=SUBMITTED).order_by()
        sets = sets.filter(document__in=drafts.order_by().values("document"))
        reviewed = dict(sets.values_list("author_id").annotate(n=Count("*")))
    candidates = []
    for one in authors:
        if one.submitted:
            in_review = reviewed.get(one.pk, 0)
            free = one.submitted - golden[one.pk] - in_review
            # A set that was withdrawn since its note was compared is no longer free.
            differing = min(disputed[one.pk], free)
            candidates.append(GoldCandidate(one.pk, one.name, one.kind, one.submitted, free, in_review, differing))
    order = [AuthorKind.ADJUDICATED, AuthorKind.ANNOTATOR]
    return sorted(
        candidates, key=lambda s: (order.index(AuthorKind(s.kind)) if s.kind in order else len(order), s.kind, s.name)
    )
