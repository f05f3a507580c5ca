"""Projects as their pages show them: counts come from indexes, and no page walks a million rows to be drawn."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.gold_sets import gold_sets
from annotations.models import AnnotationSet, Assignment, Author, Document, GoldVersion, Membership, Project, Role, User
from annotations.models.prepared import PreparedRead

# Counted no further on pages that are drawn at once; above it they say "more than".
CAP = 10_000
# Notes whose language is looked at: languages have no index.
LANGUAGE_SAMPLE = 2_000


class CappedCount(Subquery):
    """The number of rows of a sliced query, in SQL."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"

    def __init__(self, rows: QuerySet[Any]) -> None:
        # No column is named, so that an index alone can answer.
        super().__init__(rows.order_by().values(one=Value(1))[: CAP + 1], output_field=IntegerField())


@dataclass(frozen=True)
class Amount:
    """A count that may have stopped at CAP: then `more` is true and `n` is CAP."""

    n: int
    more: bool = False

    @classmethod
    def of(cls, counted: int) -> "Amount":
        return cls(min(counted, CAP), counted > CAP)

    @property
    def words(self) -> str:
        return _("more than %(n)s") % {"n": f"{self.n:,}"} if self.more else f"{self.n:,}"


def amount(rows: QuerySet[Any]) -> Amount:
    """How many rows there are, counted up to CAP."""
    return Amount.of(rows.order_by()[: CAP + 1].count())


@dataclass(frozen=True)
class ProjectLine:
    """One of a person's projects: their own notes there, and how far the gold set is."""

    name: str
    slug: str
    role: str
    role_name: str
    notes: Amount
    gold: Amount
    todo: Amount
    done: Amount

    @property
    def is_reader(self) -> bool:
        """Whether notes were given to this person."""
        return bool(self.todo.n or self.done.n)

    @property
    def total(self) -> Amount:
        return Amount(self.todo.n + self.done.n, self.todo.more or self.done.more)


def my_projects(user: User) -> list[ProjectLine]:
    """The projects this person is in, by name, in one query."""
    project = OuterRef("project_id")
    mine = Assignment.objects.filter(project=project, user_id=user.pk)
    gold = AnnotationSet.objects.filter(
        author__project=project, author__kind=Author.Kind.GOLD, state=AnnotationSet.State.SUBMITTED
    )
    members = (
        Membership.objects.filter(user_id=user.pk, active=True)
        .annotate(
            notes=CappedCount(Document.objects.filter(project=project)),
            gold=CappedCount(gold),
            todo=CappedCount(mine.filter(state=Assignment.State.OPEN)),
            done=CappedCount(mine.filter(state=Assignment.State.DONE)),
        )
        .order_by("project__name", "project_id")
        .values_list("project__name", "project__slug", "role", "notes", "gold", "todo", "done")
    )
    return [
        ProjectLine(name, slug, role, str(Role(role).label), *(Amount.of(n) for n in counts))
        for name, slug, role, *counts in members
    ]


@dataclass(frozen=True)
class Step:
    """One thing to do before a gold standard stands. `url` names the page where it is done."""

    title: str
    text: str
    url: str
    action: str
    done: bool


def steps(project: Project, found: "Tally | None" = None) -> list[Step]:
    """What is still to do until the first gold version, in its order. What was counted already isn't asked again."""
    annotators = Membership.objects.filter(project=project, role=Role.ANNOTATOR, active=True).exists()
    if found is not None:
        has_notes, gold, frozen = found.notes > 0, found.gold > 0, found.versions > 0
    else:
        # In order, so that an index is walked: looking for any one may read the whole table first.
        has_notes = bool(Document.objects.filter(project=project).order_by("pk").values_list("pk")[:1])
        frozen = GoldVersion.objects.filter(project=project).exists()
        gold = bool(gold_sets(project).order_by("document_id").values_list("document_id")[:1])
    return [
        Step(_("Import notes"), _("Drop the files in: text, brat or CoNLL."), "import", _("Import notes"), has_notes),
        Step(_("Invite people"), _("Annotators get their notes at once."), "people", _("Invite people"), annotators),
        Step(
            _("Write the guidelines"),
            _("Annotators see them beside the note."),
            "guidelines",
            _("Write guidelines"),
            bool(project.guidelines.strip()),
        ),
        Step(
            _("Make readings gold"),
            _("Once annotators have handed in, choose whose reading becomes gold."),
            "gold",
            _("Go to gold"),
            gold,
        ),
        Step(
            _("Freeze a version"),
            _("A frozen version never changes; exports name it."),
            "gold",
            _("Freeze gold"),
            frozen,
        ),
    ]


@dataclass
class Reader:
    """How far one author is: readings handed in and begun, notes still open."""

    name: str
    kind: str
    kind_name: str
    submitted: int = 0
    drafts: int = 0
    open: int = 0
    given: int = 0


@dataclass(frozen=True)
class Tally:
    """Where a project stands, counted exactly. On a very large one this takes a second, so it is fetched apart."""

    notes: int
    gold: int
    versions: int
    readers: list[Reader] = field(default_factory=list)
    languages: list[tuple[str, int]] = field(default_factory=list)
    languages_of: int = 0

    @property
    def submitted(self) -> int:
        return sum(reader.submitted for reader in self.readers)


def is_large(project: Project) -> bool:
    """Whether exact counts are too slow to draw a page with."""
    return amount(Document.objects.filter(project=project)).more


def tally(project: Project) -> Tally:
    """Exact counts of notes, readings, gold and versions. Spans are never counted here."""
    authors = {author.pk: author for author in Author.objects.filter(project=project).select_related("user")}
    states = Counter(
        {
            (author, state): count
            for author, state, count in AnnotationSet.objects.filter(author_id__in=list(authors))
            .order_by()
            .values_list("author_id", "state")
            .annotate(count=Count("pk"))
        }
    )
    languages = _languages(project)
    return Tally(
        notes=Document.objects.filter(project=project).count(),
        gold=sum(states[pk, AnnotationSet.State.SUBMITTED] for pk, a in authors.items() if a.kind == Author.Kind.GOLD),
        versions=GoldVersion.objects.filter(project=project).count(),
        readers=_readers(project, authors, states),
        languages=languages,
        languages_of=sum(count for _, count in languages),
    )


def _readers(project: Project, authors: dict[int, Author], states: Counter[tuple[int, str]]) -> list[Reader]:
    """Annotators first (those without a reading too), then models; gold is the goal and no reader."""
    work = _work(project)
    members = dict(
        Membership.objects.filter(project=project, role=Role.ANNOTATOR, active=True).values_list(
            "user_id", "user__username"
        )
    )
    readers: list[Reader] = []
    seen: set[int] = set()
    for pk, author in authors.items():
        if author.kind == Author.Kind.GOLD:
            continue
        submitted, drafts = (states[pk, s] for s in (AnnotationSet.State.SUBMITTED, AnnotationSet.State.DRAFT))
        user = author.user_id or 0
        if not (submitted or drafts or user in members):
            continue
        seen.add(user)
        still_open, done = work[user, Assignment.State.OPEN], work[user, Assignment.State.DONE]
        readers.append(
            Reader(
                author.name, author.kind, author.get_kind_display(), submitted, drafts, still_open, still_open + done
            )
        )
    for user, name in members.items():
        if user not in seen:
            still_open, done = work[user, Assignment.State.OPEN], work[user, Assignment.State.DONE]
            kind = Author.Kind.ANNOTATOR
            readers.append(Reader(name, kind, str(kind.label), 0, 0, still_open, still_open + done))
    return sorted(readers, key=lambda reader: (reader.kind != Author.Kind.ANNOTATOR, reader.kind, reader.name))


def _work(project: Project) -> Counter[tuple[int, str]]:
    rows = Assignment.objects.filter(project=project).order_by().values_list("user_id", "state")
    return Counter({(user, state): count for user, state, count in rows.annotate(count=Count("pk"))})


def _languages(project: Project) -> list[tuple[str, int]]:
    first = Document.objects.filter(project=project).order_by("pk").values_list("language", flat=True)
    return Counter(first[:LANGUAGE_SAMPLE]).most_common()


@dataclass(frozen=True)
class OwnWork:
    """A person's own notes in a project."""

    todo: Amount
    done: Amount

    @property
    def total(self) -> Amount:
        return Amount(self.todo.n + self.done.n, self.todo.more or self.done.more)


def _own_counts(project: int, user: int, membership: int) -> QuerySet[Membership, Any]:
    mine = Assignment.objects.filter(project_id=project, user_id=user)
    return Membership.objects.filter(pk=membership).values_list(
        CappedCount(mine.filter(state=Assignment.State.OPEN)), CappedCount(mine.filter(state=Assignment.State.DONE))
    )


_OWN_COUNTS = PreparedRead(_own_counts, int, int, int)


def own_work(access: Access) -> OwnWork:
    todo, done = _OWN_COUNTS.first(access.project.pk, access.user.pk, access.membership.pk) or (0, 0)
    return OwnWork(Amount.of(todo), Amount.of(done))
