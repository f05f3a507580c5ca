"""Routes of injected errors: list, start and read injections, score an author, the errors behind a figure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can, authors_for
from annotations.core.api.paging import Page, Paging, paged, paged_rows
from annotations.core.api.problems import invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.gold.selectors import versions
from annotations.jobs.api import job_address
from annotations.jobs.tokens import new_key
from annotations.models import Author
from annotations.notes.selectors.in_context import Entry, shown_in_context
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.names import MAX_ID
from models_runtime.models import InjectedRun
from models_runtime.refining.rules.vocabulary import LONGEST_TERM, MOST_TERMS, Term, TermError, checked_term
from models_runtime.refining.services.injecting.benching import BenchedError, errors_behind, refiners_of
from models_runtime.refining.services.injecting.scoring import (
    authors_on,
    is_complete,
    require_complete,
    score_injection,
)
from models_runtime.refining.services.injecting.starting import ALL, MOST_SEED, start_injection

router = Router(tags=["Injected errors"])
MOST_REASONS = 100
PATH = "/projects/{slug:slug}/injections"
ONE = f"{PATH}/{{int:injection}}"
FIELDS = {
    "rules": "rules",
    "rate": "rate",
    "seed": "seed",
    "empty": "gold",
    "log": "rules",
    "exists": "name",
    "name": "name",
}


class InjectionItem(Schema):
    """A copy of a gold version with injected errors. `author` has its annotation sets; `rate` is errors per gold span.

    `errors` is null until they are drawn.
    """

    id: int
    author: int
    name: str
    gold: int
    rules: list[str]
    rate: float
    seed: int
    errors: int | None
    job: int | None
    state: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: InjectedRun, **more: Any) -> Self:
        return cls(
            id=row.pk, author=row.author_id, name=row.author.name, gold=row.gold_version.number, rules=row.rules,
            rate=row.rate, seed=row.seed, errors=row.injected, job=row.job.number if row.job else None,
            state=row.job.state if row.job else None, created_at=row.created_at, **more,
        )  # fmt: skip


class Refiner(Schema):
    """An author who can be scored. `kind` is annotator for people, and bench for refinements of the copy."""

    id: int
    name: str
    kind: str


class InjectionOut(InjectionItem):
    """An injection with the errors that each rule could make, and who went through it; empty while it works."""

    possible: dict[str, int]
    authors: list[Refiner]


class NewTerm(Body):
    """A string that is marked with a label wherever gold has nothing. Of several labels, the most frequent one is used.

    The string is deleted when the errors are drawn.
    """

    string: str = Field(max_length=LONGEST_TERM)
    label: str = Field(max_length=100)
    count: int = Field(1, ge=1, lt=10**9)


class NewInjection(Body):
    """`gold` is the number of a frozen version. `rules`: names of rules, or “all” that fit the project's labels.

    “log” marks the strings of rejected suggestions, and “systemic:” with a name an accepted systemic error. Without
    `rules`: “all”, or none if there are `terms`, which make the rule “csv”.
    """

    gold: int = Field(ge=1, le=2**31 - 1)
    rules: list[str] | None = Field(None, max_length=100)
    terms: list[NewTerm] = Field([], max_length=MOST_TERMS)
    rate: float = 0.1
    seed: int = Field(7, ge=0, le=MOST_SEED)
    name: str = ""


class InjectedErrorsWanted(Schema):
    """Without an author: all errors. With one: those of `kind` in the notes that the author has submitted.

    `collateral` are untouched gold spans that the author changed.
    """

    author: int = Field(0, ge=0, le=MAX_ID)
    kind: Literal["all", "caught", "missed", "lost", "collateral"] = "all"
    rule: str = Field("", max_length=40)


class InjectedErrorOut(Schema):
    """An injected error, or a changed gold span without rule. `gold` is the gold label; empty: no gold is there.

    `caught` is null, and `there` empty, without an author. Offsets are in code points, end-exclusive.
    """

    note: int
    name: str
    start: int
    end: int
    label: str
    gold: str
    rule: str
    before: str
    marked: str
    after: str
    caught: bool | None
    there: list[tuple[int, int, str]]


@router.get(PATH, response=Page[InjectionItem])
def list_injections(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the copies of gold with injected errors, the newest first."""
    access = enter(request, slug, Can.MANAGE)
    rows = InjectedRun.objects.filter(project=access.project).select_related("author", "gold_version", "job")
    return paged_rows(request, paging, rows, InjectionItem.of, newest_first=True)


@router.post(PATH, response={202: InjectionItem})
def start_injection_now(
    request: ApiRequest, response: HttpResponse, slug: str, body: NewInjection
) -> Status[InjectionItem]:
    """Inject errors into a copy of a frozen gold version."""
    access = enter(request, slug, Can.MANAGE)
    version = next((one for one in versions(access.project) if one.number == body.gold), None)
    if version is None:
        raise invalid(("gold", "There is no frozen gold version with this number."))
    terms = _terms(access, body.terms)
    rules = body.rules if body.rules is not None else [] if terms else [ALL]
    with named(FIELDS):
        row = start_injection(
            version=version, actor=access.user, rules=rules, rate=body.rate, seed=body.seed, name=body.name,
            terms=terms, key=new_key(access),
        )  # fmt: skip
    if row.job is not None:
        response["Location"] = job_address(slug, row.job)
    return Status(202, InjectionItem.of(row))


@router.get(ONE, response=InjectionOut)
def read_injection(request: ApiRequest, slug: str, injection: int) -> InjectionOut:
    """Read an injection, with the authors who can be scored."""
    access = enter(request, slug, Can.MANAGE)
    row = _injection(access, injection)
    authors = refiners_of(row, authors_for(access)) if is_complete(row) else []
    return InjectionOut.of(
        row,
        possible=row.possible_by_rule() if row.possible else {},
        authors=[Refiner(id=one.pk, name=one.name, kind=one.kind) for one in authors],
    )


@router.get(f"{ONE}/scores/{{int:author}}", response=dict[str, Any])
def read_injection_score(request: ApiRequest, slug: str, injection: int, author: int) -> dict[str, Any]:
    """Read what an author caught, as the command `score_injection --json` gives it."""
    access = enter(request, slug, Can.MANAGE)
    row = _injection(access, injection)
    require_complete(row)
    return score_injection(row, _author(access, row, author)).as_json()


@router.get(f"{ONE}/errors", response=Page[InjectedErrorOut])
def list_injected_errors(
    request: ApiRequest, slug: str, injection: int, paging: Query[Paging], wanted: Query[InjectedErrorsWanted]
) -> dict[str, Any] | HttpResponseBase:
    """List injected errors in their sentences, and what an author did with them. The audit log records the notes."""
    access = enter(request, slug, Can.MANAGE)
    row = _injection(access, injection)
    require_complete(row)
    author = _author(access, row, wanted.author) if wanted.author else None
    found = errors_behind(row, author, wanted.kind, wanted.rule)

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, BenchedError, Entry]]:
        first = after or 0
        chosen = dict(enumerate(found[first : first + size], first + 1))
        rows = [
            [one.note, str(number), [one.error.start, one.error.end, one.error.label], None]
            for number, one in chosen.items()
        ]
        return [(int(one.kind), chosen[int(one.kind)], one) for one in shown_in_context(access, rows, "injections")]

    return paged(request, paging, fetch, lambda each: _error(*each[1:]), lambda each: each[0])


def _terms(access: Access, rows: Sequence[NewTerm]) -> list[Term]:
    """Raises Problem (422), which names the terms that can't be used."""
    _accepted, ids = accepted_labels(access.project)
    terms, wrong = [], []
    for at, row in enumerate(rows):
        try:
            terms.append(checked_term(row.string, row.label, row.count, ids))
        except TermError as error:
            wrong.append((f"terms.{at}.{error.field}", str(error)))
    if wrong:
        raise invalid(*wrong[:MOST_REASONS])
    return terms


def _error(one: BenchedError, entry: Entry) -> InjectedErrorOut:
    error, outcome = one.error, one.outcome
    return InjectedErrorOut(
        note=one.note, name=entry.name, start=error.start, end=error.end, label=error.label, gold=error.was,
        rule=error.rule, before=entry.before, marked=entry.marked, after=entry.after,
        caught=outcome.caught if outcome and error.rule else None,
        there=[(span.start, span.end, span.label) for span in (outcome.there if outcome else ())],
    )  # fmt: skip


def _injection(access: Access, pk: int) -> InjectedRun:
    rows = InjectedRun.objects.select_related("author", "gold_version__project", "job", "project")
    return get_object_or_404(rows, project=access.project, pk=pk)


def _author(access: Access, run: InjectedRun, pk: int) -> Author:
    return get_object_or_404(authors_on(run).filter(pk__in=authors_for(access).values("pk")), pk=pk)
