"""The notes to adjudicate: those that wait, lowest agreement first, counts, and those that a majority vote decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Sum, When
from django.db.models.enums import TextChoices
from django.utils.translation import gettext_lazy as _

from annotations import models
from annotations.agreement.selectors.desk import LEAST_ANNOTATORS
from annotations.annotate.selectors.worklist import shared_notes
from annotations.core.access import Access, Can
from annotations.core.authors import gold_sets, review_drafts
from annotations.core.navigation import MOST
from annotations.models.prepared import PreparedRead

SUBMITTED = models.AnnotationSetState.SUBMITTED


class Show(TextChoices):
    """The filters of the list."""

    TODO = "todo", _("To adjudicate")
    BEGUN = "begun", _("Begun")
    AGAIN = "again", _("Annotations changed since")
    FINISHED = "finished", _("Finished")
    ALL = "all", _("All")


@dataclass(frozen=True)
class AdjudicationItem:
    """A note that two or more annotators have submitted. `pending` annotators still have it.

    `state`: new, begun, again (annotations changed since) or finished. `agreement` is null if nobody marked anything.
    """

    note: int
    name: str
    annotators: int
    pending: int
    agreement: float | None
    disputed: int
    agreed: int
    decided: int
    state: str
    gold: bool


@dataclass(frozen=True)
class AdjudicationCounts:
    """The number of notes for each state, of finished ones without gold, and of unanimous notes.

    Unanimous notes count only in a project that accepts them without an adjudicator, and until somebody begins them.
    """

    todo: int
    begun: int
    again: int
    finished: int
    all: int
    unanimous: int
    without_gold: int


def adjudicated_id(project: models.Project) -> int:
    """The id of the project's author of adjudicated sets; 0 before the first adjudication."""
    authors = models.Author.objects.filter(project=project, kind=models.AuthorKind.ADJUDICATED)
    return authors.values_list("pk", flat=True).first() or 0


def _notes(project: models.Project, show: Show) -> "QuerySet[Any]":
    """Those of the notes that at least two annotators have submitted. Conditions become joins; a value would not."""
    found = models.Comparison.objects.filter(project=project, annotators__gte=LEAST_ANNOTATORS)
    here = {"document_id": OuterRef("document_id")}
    sets = models.AnnotationSet.objects.filter(author_id=adjudicated_id(project), **here)
    finished = Exists(sets.filter(state=SUBMITTED))
    others = models.Adjudication.objects.filter(**here).exclude(heard="").exclude(heard=OuterRef("heard"))
    conditions: dict[Show, list[Any]] = {
        Show.TODO: [~finished],
        Show.BEGUN: [Exists(sets.filter(state=models.AnnotationSetState.DRAFT))],
        Show.AGAIN: [finished, Exists(others)],
        Show.FINISHED: [finished],
        Show.ALL: [],
    }
    return found.filter(*conditions[show])


# Lowest agreement first, as in the index; notes in which nobody marked anything come last.
_ORDER = (F("agreement").asc(nulls_last=True), "document_id")


def adjudication_notes(project: models.Project, show: Show, user: int | None = None) -> "QuerySet[Any]":
    """The notes in the order of the list, for `items_of`. Bring the comparisons up to date before.

    With a user, those to adjudicate are without those that only others have begun, as `notes_left` counts them.
    """
    rows = _notes(project, show).select_related("document").defer("document__text").order_by(*_ORDER)
    return rows if user is None or show != Show.TODO else rows.filter(~_begun_by(user)[1])


def items_of(rows: Sequence[Any]) -> list[AdjudicationItem]:
    """The rows of a page of `adjudication_notes`."""
    ids = [row.document_id for row in rows]

    def counts(found: "QuerySet[Any]") -> dict[int, int]:
        return dict(found.filter(document_id__in=ids).order_by().values_list("document_id").annotate(n=Count("id")))

    decided = counts(models.Resolution.objects.all())
    pending = counts(models.Assignment.objects.filter(state=models.AssignmentState.OPEN))
    sets = models.AnnotationSet.objects.filter(document_id__in=ids)
    gold = set(sets.filter(author__kind=models.AuthorKind.GOLD, state=SUBMITTED).values_list("document_id", flat=True))
    adjudicated = sets.filter(author__kind=models.AuthorKind.ADJUDICATED)
    states = dict(adjudicated.values_list("document_id", "state"))
    heard = dict(models.Adjudication.objects.filter(document_id__in=ids).values_list("document_id", "heard"))
    return [
        AdjudicationItem(
            note=row.document_id,
            name=row.document.name,
            annotators=row.annotators,
            pending=pending.get(row.document_id, 0),
            agreement=row.agreement,
            disputed=row.disputed,
            agreed=row.agreed,
            decided=decided.get(row.document_id, 0),
            state=_state(states.get(row.document_id), heard.get(row.document_id), row.heard),
            gold=row.document_id in gold,
        )
        for row in rows
    ]


def _state(state: str | None, heard: str | None, now: str) -> str:
    if state is None:
        return "new"
    if state != SUBMITTED:
        return "begun"
    return "finished" if heard in (now, "") else "again"


def adjudication_counts(project: models.Project, user: int | None = None) -> AdjudicationCounts:
    """Count the notes. With a user, those to adjudicate are counted as in `adjudication_notes`."""
    n = {show: _notes(project, show).count() for show in Show if show != Show.TODO}
    others = _notes(project, Show.TODO).filter(_begun_by(user)[1]).count() if user is not None else 0
    return AdjudicationCounts(
        **{show.value: number for show, number in n.items()},
        todo=n[Show.ALL] - n[Show.FINISHED] - others,
        unanimous=unanimous_notes(project).count() if project.unanimous_passes else 0,
        without_gold=finished_without_gold(project),
    )


def _begun_by(user: int) -> tuple[Exists, Q]:
    """The conditions that this person has begun a note, and that only others have. A vote begins it for nobody."""
    here = {"document_id": OuterRef("document_id")}
    decided = models.Resolution.objects.filter(**here).order_by()
    own, voted = Exists(decided.filter(by=user)), Exists(models.MajorityNote.objects.filter(**here).order_by())
    return own, Q(Exists(decided), ~own, ~voted)


def next_to_adjudicate(project: models.Project, after: int | None, user: int) -> int | None:
    """The next unfinished note after note `after`, and after the last the first.

    First the notes that this person has begun, then those that nobody has, last those of others; each in list order.
    """
    own, others = _begun_by(user)
    turn = Case(When(own, then=0), When(others, then=2), default=1)
    notes = _notes(project, Show.ALL).annotate(turn=turn)
    todo = (
        _notes(project, Show.TODO).annotate(turn=turn).order_by("turn", *_ORDER).values_list("document_id", flat=True)
    )
    here = notes.filter(document_id=after).values_list("turn", "agreement") if after else []
    found: int | None = None
    for now, agreement in here:
        unmarked, same = Q(agreement__isnull=True), Q(agreement=agreement, document_id__gt=after)
        later = same if agreement is None else Q(agreement__gt=agreement) | same | unmarked
        found = todo.filter(Q(later, turn=now) | Q(turn__gt=now)).first()
    return found or todo.exclude(document_id=after or 0).first()


def unanimous_notes(project: models.Project) -> "QuerySet[Any]":
    """The notes without disagreements whose adjudication nobody has begun."""
    begun = models.AnnotationSet.objects.filter(author_id=adjudicated_id(project), document_id=OuterRef("document_id"))
    return _notes(project, Show.ALL).filter(~Exists(begun), disputed=0).order_by("document_id")


def finished_without_gold(project: models.Project) -> int:
    """The number of finished adjudications without gold."""
    gold = models.AnnotationSet.objects.filter(document_id=OuterRef("document_id"), author__kind=models.AuthorKind.GOLD)
    return adjudicated_sets(project).filter(~Exists(gold)).count()


# ── Counts from indexes only: nothing is compared ────────────────────────────────────────────────────────────────────


def adjudicated_sets(project: models.Project) -> QuerySet[models.AnnotationSet]:
    """Query the adjudicated sets of notes whose adjudication is finished."""
    authors = models.Author.objects.filter(project=project, kind=models.AuthorKind.ADJUDICATED).order_by()
    return models.AnnotationSet.objects.filter(author__in=authors, state=SUBMITTED).order_by()


def to_adjudicate(project: models.Project, user: int) -> QuerySet[Any, Any]:
    """Query the notes that two annotators have submitted, without those finished or begun by others only."""
    finished = adjudicated_sets(project).filter(document_id=OuterRef("document_id"))
    return shared_notes(project).filter(~Exists(finished), ~_begun_by(user)[1])


# The header counts on every page; Django would take longer to write these queries than the database to answer.
_LEFT = PreparedRead(
    lambda project, user: to_adjudicate(models.Project(pk=project), user).values_list("document_id")[: MOST + 1],
    int,
    int,
)


def notes_left(access: Access) -> int | None:
    """Count the notes that wait for this person for the header, which shows no number above MOST."""
    return len(_LEFT.all(access.project.pk, access.user.pk)) if access.can(Can.MAKE_GOLD) else None


@dataclass(frozen=True)
class Outcomes:
    """A person's adjudicated notes: how many, and the ids and names of the last ones."""

    count: int
    last: list[tuple[int, str]]


def outcomes(access: Access, most: int) -> Outcomes | None:
    """The outcomes that this person may open; None without any, or where the project doesn't show outcomes."""
    if not access.project.show_outcome:
        return None
    user = access.user.pk
    note, states = OuterRef("document_id"), [models.AssignmentState.OPEN, models.AssignmentState.DONE]
    own = models.AnnotationSet.objects.filter(document_id=note, author__user_id=user, state=SUBMITTED)
    own = own.filter(author__kind=models.AuthorKind.ANNOTATOR)
    assigned = models.Assignment.objects.filter(document_id=note, user_id=user, state__in=states)
    mine = adjudicated_sets(access.project).filter(Exists(own))
    if access.blind:
        mine = mine.filter(Exists(assigned))
    count = mine.count()
    last = list(mine.order_by("-updated_at", "pk").values_list("document_id", "document__name")[:most])
    return Outcomes(count, last) if count else None


# ── Majority votes ───────────────────────────────────────────────────────────────────────────────────────────────────


class Reason(TextChoices):
    """Why the vote skips a note. The first reason that applies counts."""

    HAS_GOLD = "has_gold"
    IN_REVIEW = "in_review"
    BEGUN = "begun"
    PENDING = "pending"


@dataclass(frozen=True)
class MajorityPreview:
    """What a vote would do. `whole` notes would become gold; `tied` ones have `ties` locations without a majority.

    The others are skipped: they have gold, an open review or an adjudication, or wait for an annotator.
    """

    whole: int
    tied: int
    ties: int
    has_gold: int
    in_review: int
    begun: int
    pending: int

    @property
    def planned(self) -> int:
        return self.whole + self.tied

    @property
    def notes(self) -> int:
        return self.planned + self.has_gold + self.in_review + self.begun + self.pending


def _skipped(project: models.Project) -> dict[Reason, QuerySet[Any]]:
    """The rows because of which the vote skips their notes."""
    return {
        Reason.HAS_GOLD: gold_sets(project),
        Reason.IN_REVIEW: review_drafts(project),
        Reason.BEGUN: models.AnnotationSet.objects.filter(author_id=adjudicated_id(project)),
        Reason.PENDING: models.Assignment.objects.filter(project=project, state=models.AssignmentState.OPEN),
    }


def _of_note(rows: QuerySet[Any]) -> Exists:
    return Exists(rows.filter(document_id=OuterRef("document_id")))


def preview(project: models.Project) -> MajorityPreview:
    """Compare notes before."""
    left, skipped = _notes(project, Show.ALL), dict.fromkeys(Reason.values, 0)
    counts = {"n": Count("*"), "with_ties": Count("document_id", filter=Q(tied__gt=0)), "ties": Sum("tied")}
    found = left.aggregate(**counts)
    for reason, rows in _skipped(project).items():
        if rows.exists():  # Otherwise a look at all notes would find nothing.
            before, left = found["n"], left.filter(~_of_note(rows))
            found = left.aggregate(**counts)
            skipped[reason.value] = before - found["n"]
    return MajorityPreview(found["n"] - found["with_ties"], found["with_ties"], found["ties"] or 0, **skipped)


def free_notes(project: models.Project, among: Sequence[int] | None = None) -> list[int]:
    """The ids of the notes that the vote decides, optionally `among` some."""
    rows = _notes(project, Show.ALL).filter(*(~_of_note(rows) for rows in _skipped(project).values()))
    if among is not None:
        rows = rows.filter(document_id__in=among)
    return list(rows.order_by("document_id").values_list("document_id", flat=True))
