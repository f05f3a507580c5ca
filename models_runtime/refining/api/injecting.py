"""Routes of injected errors: list, start and read injections, score an author, the errors behind a figure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from django.shortcuts import get_object_or_404
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, authors_for
from annotations.core.api import routes
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.jobs.api import new_key
from annotations.models import Author
from annotations.notes.api.in_context import paged_in_context, sentence_of
from annotations.notes.selectors.in_context import Entry
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.names import MAX_ID
from models_runtime.models import InjectedRun, SystemicError
from models_runtime.refining.rules import injection as injected
from models_runtime.refining.selectors import systemic_rows
from models_runtime.refining.services import bench, injecting

router = routes.ProjectRouter(tags=["Injected errors"])
MOST_REASONS = 100
PATH = "/projects/{slug:slug}/injections"
ONE = f"{PATH}/{{int:injection}}"
OneInjection = Annotated[InjectedRun, bench.injection_for]
FIELDS = {"gold": "gold", "empty": "gold", "rules": "rules", "log": "rules", "exists": "name", "name": "name"}


class InjectionItem(routes.Answer):
    """A copy of a gold version with injected errors. `author` has its annotation sets; `rate` is errors per gold span.

    `errors` is null until they are drawn.
    """

    id: int
    author: int = Field(validation_alias="author_id")
    name: str = Field(validation_alias="author.name")
    gold: Annotated[int, routes.attribute("number")] = Field(validation_alias="gold_version")
    rules: list[str]
    rate: float
    seed: int
    errors: int | None = Field(validation_alias="injected")
    job: routes.JobNumber
    state: routes.JobStateName
    created_at: datetime


class Refiner(Schema):
    """An author who can be scored. `kind` is annotator for people, and bench for refinements of the copy."""

    id: int
    name: str
    kind: str


class InjectionOut(InjectionItem):
    """An injection with the errors that each rule could make, and who refined it; both are empty while the job runs."""

    possible: dict[str, int]
    authors: list[Refiner]


class NewTerm(routes.Body):
    """A string that is marked with a label wherever gold has nothing. Of several labels, the most frequent one is used.

    The string is deleted when the errors are drawn.
    """

    string: str = Field(max_length=injected.LONGEST_TERM)
    label: str = Field(max_length=100)
    count: int = Field(1, ge=1, lt=10**9)


class NewInjection(routes.Body):
    """`gold` is the number of a frozen version. `rules`: names of rules, or “all” that fit the project's labels.

    “log” marks the strings of rejected suggestions, and “systemic:” with a name an accepted systemic error. Without
    `rules`: “all”, or none if there are `terms`, which make the rule “csv”.
    """

    gold: int = Field(ge=1, le=2**31 - 1)
    rules: list[str] | None = Field(None, max_length=100)
    terms: list[NewTerm] = Field([], max_length=injected.MOST_TERMS)
    rate: float = Field(0.1, ge=injected.LEAST_RATE, le=injected.MOST_RATE)
    seed: int = Field(7, ge=0, le=injecting.MOST_SEED)
    name: str = ""


class InjectedErrorsWanted(Schema):
    """Without an author: all errors. With one: those of `kind` in the notes that the author has submitted.

    `collateral` are untouched gold spans that the author changed.
    """

    author: int = Field(0, ge=0, le=MAX_ID)
    kind: Literal["all", "caught", "missed", "lost", "collateral"] = "all"
    rule: str = Field("", max_length=40)


class InjectedErrorOut(routes.SpanInSentence):
    """An injected error, or a changed gold span without rule. `gold` is the gold label; empty: no gold is there.

    `caught` is null, and `there` empty, without an author. Offsets are in code points, end-exclusive.
    """

    label: str
    gold: str
    rule: str
    caught: bool | None
    there: list[tuple[int, int, str]]


@router.get(PATH, Can.MANAGE, response=Page[InjectionItem])
def list_injections(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the copies of gold with injected errors, the newest first."""
    rows = InjectedRun.objects.filter(project=access.project).select_related("author", "gold_version", "job")
    return paged_rows(request, paging, rows, InjectionItem.from_orm, newest_first=True)


@router.post(PATH, Can.MANAGE, response={202: InjectionItem})
def start_injection_now(access: Access, body: NewInjection) -> InjectedRun:
    """Inject errors into a copy of a frozen gold version."""
    terms = _terms(access, body.terms)
    rules = body.rules if body.rules is not None else [] if terms else [injecting.ALL]
    with routes.named(FIELDS):
        return injecting.start_injection(
            project=access.project, gold=body.gold, actor=access.user, rules=rules, rate=body.rate, seed=body.seed,
            name=body.name, terms=terms, key=new_key(access),
        )  # fmt: skip


@router.get(ONE, Can.MANAGE, response=InjectionOut)
def read_injection(access: Access, injection: OneInjection) -> InjectionOut:
    """Read an injection, with the authors who can be scored."""
    authors = bench.refiners_of(injection, authors_for(access)) if bench.is_complete(injection) else []
    possible = injection.possible_by_rule() if injection.possible else {}
    refiners = [Refiner.from_orm(one) for one in authors]
    return InjectionOut(**InjectionItem.from_orm(injection).dict(), possible=possible, authors=refiners)


@router.get(f"{ONE}/scores/{{int:author}}", Can.MANAGE, response=dict[str, Any])
def read_injection_score(access: Access, injection: OneInjection, author: int) -> dict[str, Any]:
    """Read what an author caught: shares are from 0 to 1, and null where there is nothing to count."""
    bench.require_complete(injection)
    (score,) = bench.score_authors(injection, [_author(access, injection, author)])
    return score.as_json()


@router.get(f"{ONE}/errors", Can.MANAGE, response=Page[InjectedErrorOut])
def list_injected_errors(
    request: routes.ApiRequest,
    access: Access,
    injection: OneInjection,
    paging: Query[Paging],
    wanted: Query[InjectedErrorsWanted],
) -> PageAnswer:
    """List injected errors in their sentences, and what an author did with them. The audit log records the notes."""
    bench.require_complete(injection)
    author = _author(access, injection, wanted.author) if wanted.author else None
    found = bench.errors_behind(injection, author, wanted.kind, wanted.rule)

    return paged_in_context(request, paging, access, found, bench.row_of_error, _error, "injections")


def _terms(access: Access, rows: Sequence[NewTerm]) -> list[injected.Term]:
    """The terms of a request, checked. Raises Problem (422) with a reason for each term that can't be used."""
    _accepted, ids = accepted_labels(access.project)
    terms, wrong = [], []
    for at, row in enumerate(rows):
        try:
            terms.append(injected.checked_term(row.string, row.label, row.count, ids))
        except injected.TermError as error:
            wrong.append((f"terms.{at}.{error.field}", str(error)))
    if wrong:
        raise routes.invalid(*wrong[:MOST_REASONS])
    return terms


def _error(one: bench.BenchedError, entry: Entry) -> InjectedErrorOut:
    error, outcome = one.error, one.outcome
    return InjectedErrorOut(
        start=error.start, end=error.end, label=error.label, gold=error.was, rule=error.rule,
        caught=outcome.caught if outcome and error.rule else None,
        there=[(span.start, span.end, span.label) for span in (outcome.there if outcome else ())],
        **sentence_of(entry),
    )  # fmt: skip


def _author(access: Access, run: InjectedRun, pk: int) -> Author:
    return get_object_or_404(bench.authors_on(run).filter(pk__in=authors_for(access).values("pk")), pk=pk)


# Routes of systemic errors: clusters of rejected suggestions, and those that a manager accepted under a name.


SYSTEMIC = "/projects/{slug:slug}/injections/systemic"
SEED = Field(7, ge=0, le=injecting.MOST_SEED)


class SystemicItem(Schema):
    """A cluster that a manager accepted. `rule` is its name among the rules of injections; `label` a label's code.

    Examples that were erased don't count.
    """

    id: int
    name: str
    rule: str
    label: str
    examples: int
    created_by: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: SystemicError) -> Self:
        return cls(
            id=row.pk, name=row.name, rule=injecting.rule_of(row), label=row.label, examples=row.examples.count(),
            created_by=row.created_by.username if row.created_by else None, created_at=row.created_at,
        )  # fmt: skip


class ClusterSeed(Schema):
    """The same seed and rejected suggestions give the same clusters."""

    seed: int = SEED


class ClusterString(Schema):
    """A string, and how many suggestions of the cluster have it."""

    string: str
    count: int


class ClusterExample(routes.SpanInSentence):
    """A rejected suggestion in its sentence. Offsets are in code points, end-exclusive."""


class ClusterOut(Schema):
    """A cluster of similar rejected suggestions of one label. `key` stands for exactly these `size` suggestions.

    `rule` is the name of the rule if the cluster was accepted, else empty. `words` stand around the suggestions more
    often than around others. At most five strings and examples are shown.
    """

    number: int
    key: str
    label: str
    size: int
    rule: str
    words: list[str]
    strings: list[ClusterString]
    examples: list[ClusterExample]


class NewSystemic(routes.Body):
    """`key` and `seed` of a cluster. The name has a-z, 0-9 and hyphens, and begins with a letter."""

    name: str = Field(max_length=30)
    key: str = Field(min_length=1, max_length=16)
    seed: int = SEED


@router.get(f"{SYSTEMIC}/clusters", Can.MANAGE, response=Page[ClusterOut])
def list_clusters(
    request: routes.ApiRequest, access: Access, paging: Query[Paging], wanted: Query[ClusterSeed]
) -> PageAnswer:
    """List clusters of rejected suggestions, the largest first. The audit log records the notes of the examples."""
    found = injecting.clusters_of(access.project, wanted.seed)

    def fetch(after: int | None, size: int) -> Sequence[ClusterOut]:
        return _shown(access, found[after or 0 : (after or 0) + size])

    return paged(request, paging, fetch, lambda each: each, lambda each: each.number)


@router.get(SYSTEMIC, Can.MANAGE, response=Page[SystemicItem])
def list_systemic_errors(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the accepted systemic errors."""
    return paged_rows(request, paging, systemic_rows(access.project), SystemicItem.of)


@router.post(SYSTEMIC, Can.MANAGE, response={201: SystemicItem})
def accept_systemic_error(access: Access, body: NewSystemic) -> SystemicItem:
    """Accept a cluster under a name, so that injections can make errors like it. 409 if new decisions changed it."""
    with routes.named({"name": "name", "exists": "name"}):
        row = injecting.accept_cluster(
            project=access.project, name=body.name, key=body.key, seed=body.seed, actor=access.user
        )  # fmt: skip
    return SystemicItem.of(row)


@router.delete(f"{SYSTEMIC}/{{int:systemic}}", Can.MANAGE, response={204: None})
def remove_systemic_error(access: Access, systemic: int) -> None:
    """Remove an accepted systemic error. Injections with such errors keep them."""
    row = get_object_or_404(SystemicError, project=access.project, pk=systemic)
    injecting.remove_systemic(project=access.project, name=row.name, actor=access.user)


def _shown(access: Access, found: Sequence[injecting.NumberedCluster]) -> list[ClusterOut]:
    shown = injecting.clusters_in_context(access, found)
    return [
        ClusterOut(
            number=one.number, key=one.cluster.key, label=one.cluster.label, size=len(one.cluster.examples),
            rule=one.rule, words=list(one.cluster.words),
            strings=[ClusterString(string=string, count=count) for string, count in one.strings],
            examples=[
                ClusterExample(start=example.start, end=example.end, **sentence_of(entry))
                for number, example, entry in shown
                if number == one.number
            ],
        )
        for one in found
    ]  # fmt: skip
