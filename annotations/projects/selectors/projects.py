"""Projects for their pages. Counts come from indexes, so that a page stays fast with a million notes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Exists, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access, lacks_second_factor
from annotations.jobs.registry import JOBS
from annotations.jobs.services.queue import LIVE
from annotations.models.prepared import PreparedRead
from annotations.projects.events import GUIDELINES_CHANGED

# Counts on pages stop here; above it, the pages say "more than".
CAP = 10_000
# Languages have no index, so they are counted among this many notes.
LANGUAGE_SAMPLE = 2_000
# Handovers of these states wait for a second reviewer.
ACTIVE = [str(state) for state in models.Handover.ACTIVE]


class CountedRows(Subquery):
    """The number of rows of a query for each row of another one, in SQL.

    Several of these are quicker than one grouped query, since each reads a short part of an index.
    """

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"

    def __init__(self, rows: QuerySet[Any], most: int | None = None) -> None:
        # Selecting a constant lets the database answer from an index alone.
        super().__init__(rows.order_by().values(one=Value(1))[:most], output_field=IntegerField())


class CappedCount(CountedRows):
    """The number of rows, counted up to CAP."""

    def __init__(self, rows: QuerySet[Any]) -> None:
        super().__init__(rows, CAP + 1)


@dataclass(frozen=True)
class Amount:
    """A count up to CAP. Above it, `n` is CAP and `more` is true."""

    n: int
    more: bool = False

    @classmethod
    def of(cls, counted: int) -> "Amount":
        return cls(min(counted, CAP), counted > CAP)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.n + other.n, self.more or other.more)

    @property
    def text(self) -> str:
        return _("more than %(n)s") % {"n": f"{self.n:,}"} if self.more else f"{self.n:,}"


def amount(rows: QuerySet[Any]) -> Amount:
    """Number of rows, counted up to CAP."""
    return Amount.of(rows.order_by()[: CAP + 1].count())


@dataclass(frozen=True)
class OwnWork:
    """Notes in a project that are assigned to the user: to do, and done."""

    todo: Amount
    done: Amount

    @property
    def total(self) -> Amount:
        return self.todo + self.done


@dataclass(frozen=True)
class ProjectLine(OwnWork):
    """One project of a user, with their own notes and the progress of gold. Nobody works in an archived project.

    Pages say nothing of a closed project but that it needs a second factor.
    """

    notes: Amount
    gold: Amount
    _: KW_ONLY
    name: str
    slug: str
    role: str
    role_name: str
    archived: bool
    closed: bool

    @property
    def has_assignments(self) -> bool:
        """Whether notes were assigned to this user."""
        return bool(self.todo.n or self.done.n)


def my_projects(user: models.User) -> list[ProjectLine]:
    """Projects of a user, the archived ones last, each part ordered by name, in one query."""
    closed = partial(lacks_second_factor, user)
    project = OuterRef("project_id")
    mine = models.Assignment.objects.filter(project=project, user_id=user.pk)
    gold = models.AnnotationSet.objects.filter(
        author__project=project, author__kind=models.AuthorKind.GOLD, state=models.AnnotationSetState.SUBMITTED
    )
    members = (
        models.Membership.objects.filter(user_id=user.pk, active=True)
        .annotate(
            notes=CappedCount(models.Document.objects.filter(project=project)),
            gold=CappedCount(gold),
            todo=CappedCount(mine.filter(state=models.AssignmentState.OPEN)),
            done=CappedCount(mine.filter(state=models.AssignmentState.DONE)),
        )
        .order_by("project__name", "project_id")
        .values_list(
            "project__name", "project__slug", "role", "project__archived_at", "project__second_factor",
            "todo", "done", "notes", "gold",
        )
    )  # fmt: skip
    found = [
        ProjectLine(
            *map(Amount.of, counts),
            name=name,
            slug=slug,
            role=role,
            role_name=str(models.Role(role).label),
            archived=archived is not None,
            closed=closed(wanted=wanted),
        )
        for name, slug, role, archived, wanted, *counts in members
    ]
    return sorted(found, key=lambda line: line.archived)


@dataclass
class AuthorProgress:
    """Progress of one author: submitted annotation sets, drafts, open notes, assigned notes.

    `user` is 0 for models, and `author` (an id) for members without annotation sets.
    """

    name: str
    kind: str
    kind_name: str
    submitted: int = 0
    drafts: int = 0
    open: int = 0
    assigned: int = 0
    user: int = 0
    author: int = 0


@dataclass(frozen=True)
class ProjectCounts:
    """Exact counts of a project. They take a second for a very large project, so its page loads them later."""

    notes: int
    authors: list[AuthorProgress]
    of_kind: Counter[str]
    """The submitted annotation sets of all authors of each kind."""
    languages: list[tuple[str, int]]
    languages_of: int


def is_large(project: models.Project) -> bool:
    """Whether exact counts would make a page too slow."""
    return amount(models.Document.objects.filter(project=project)).more


def counts(access: Access) -> ProjectCounts:
    """Exact counts of notes and annotation sets. Spans are not counted."""
    notes = models.Document.objects.filter(project=access.project)
    sets = models.AnnotationSet.objects.filter(author=OuterRef("pk"))
    annotators = models.Membership.objects.filter(project=access.project, role=models.Role.ANNOTATOR, active=True)
    authors = models.Author.objects.filter(project=access.project).annotate(
        submitted=CountedRows(sets.filter(state=models.AnnotationSetState.SUBMITTED)),
        drafts=CountedRows(sets.filter(state=models.AnnotationSetState.DRAFT)),
        annotates=Exists(annotators.filter(user=OuterRef("user_id"))),
        **_WORK,
    )
    of_kind: Counter[str] = Counter()
    for author in authors:
        of_kind[author.kind] += author.submitted
    languages = Counter(notes.order_by("pk").values_list("language", flat=True)[:LANGUAGE_SAMPLE])
    return ProjectCounts(
        notes=notes.count(),
        authors=_progress(authors, annotators),
        of_kind=of_kind,
        languages=languages.most_common(),
        languages_of=languages.total(),
    )


def assigned(state: models.AssignmentState) -> CountedRows:
    """The notes in this state that are assigned to the user of a row, in the row's project."""
    mine = models.Assignment.objects.filter(project=OuterRef("project_id"), user=OuterRef("user_id"))
    return CountedRows(mine.filter(state=state))


_WORK = {"open": assigned(models.AssignmentState.OPEN), "done": assigned(models.AssignmentState.DONE)}


def _progress(authors: Iterable[Any], annotators: QuerySet[models.Membership]) -> list[AuthorProgress]:
    """Progress of annotators (also without annotation sets), then of models. Gold is left out."""
    found = [
        AuthorProgress(
            one.name, one.kind, one.get_kind_display(), one.submitted, one.drafts, one.open, one.open + one.done,
            one.user_id or 0, one.pk,
        )
        for one in authors
        if one.kind != models.AuthorKind.GOLD and (one.submitted or one.drafts or one.annotates)
    ]  # fmt: skip
    without_sets: Any = annotators.exclude(user__in=[one.user for one in found]).annotate(**_WORK)
    kind = models.AuthorKind.ANNOTATOR, str(models.AuthorKind.ANNOTATOR.label)
    found += [
        AuthorProgress(one.user.username, *kind, open=one.open, assigned=one.open + one.done, user=one.user_id)
        for one in without_sets.select_related("user")
    ]
    return sorted(found, key=lambda one: (one.kind != models.AuthorKind.ANNOTATOR, one.kind, one.name))


def _own_counts(project: int, user: int, membership: int) -> QuerySet[models.Membership, Any]:
    mine = models.Assignment.objects.filter(project_id=project, user_id=user)
    return models.Membership.objects.filter(pk=membership).values_list(
        CappedCount(mine.filter(state=models.AssignmentState.OPEN)),
        CappedCount(mine.filter(state=models.AssignmentState.DONE)),
    )


# Opening a note needs it: as a plain query it takes 17% of the processor time of opening.
_OWN_COUNTS = PreparedRead(_own_counts, int, int, int)


def own_work(access: Access) -> OwnWork:
    """Open and done notes of the user, counted up to CAP in one query."""
    todo, done = _OWN_COUNTS.first(access.project.pk, access.user.pk, access.membership.pk) or (0, 0)
    return OwnWork(Amount.of(todo), Amount.of(done))


# Unfinished jobs of a project, which keep it from being archived or deleted.


def live_jobs(project: models.Project) -> list[tuple[int, str, str]]:
    """The numbers, titles and states of the jobs that are waiting, running or paused, the oldest first."""
    jobs = models.Job.objects.filter(project=project, state__in=LIVE).order_by("pk").only("number", "kind", "state")
    return [(job.number, _title(job), job.get_state_display()) for job in jobs]


def _title(job: models.Job) -> str:
    kind = JOBS.get(job.kind)
    return _(kind.title) if kind else job.kind


# Model runs that annotation can start from.


def runs_with_notes(project: models.Project) -> QuerySet[models.Author]:
    """The runs with at least one finished note, and the run that is currently chosen."""
    finished = models.AnnotationSet.objects.filter(author=OuterRef("pk"), state=models.AnnotationSetState.SUBMITTED)
    runs = models.Author.objects.filter(project=project, kind__in=models.Author.MODELS)
    return runs.filter(Q(pk=project.seed_from_id) | Exists(finished)).order_by("name", "pk")


# The current guidelines: text, version, time of the last change, and added rules.


@dataclass(frozen=True)
class Guide:
    """Guidelines of a project. `changed` is the time of the last change to text or rules."""

    text: str
    version: int
    changed: datetime | None
    amendments: list[models.Amendment]

    def __bool__(self) -> bool:
        return bool(self.text or self.amendments)


def guide_of(project: models.Project) -> Guide:
    amendments = list(models.Amendment.objects.filter(project=project).order_by("number"))
    changes = models.Event.objects.filter(project_id=project.pk, verb=GUIDELINES_CHANGED).order_by("-id")
    days = [*changes.values_list("at", flat=True)[:1], *(each.at for each in amendments[-1:])]
    return Guide(project.guidelines, project.guidelines_version, max(days, default=None), amendments)
