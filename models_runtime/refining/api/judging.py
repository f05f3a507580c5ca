"""Routes of judgings: language models judge annotations. List, start, read, the entities behind a count, ask again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can, authors_for
from annotations.core.api.paging import Page, Paging, paged, paged_rows
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.gold.selectors import versions
from annotations.jobs.api import job_address
from annotations.jobs.services.queue import LIVE
from annotations.jobs.tokens import new_key
from annotations.notes.selectors.in_context import Entry, shown_in_context
from annotations.scores.rules.judging import STANDARD, THRESHOLD
from annotations.text.names import MAX_ID
from models_runtime.models import Judging
from models_runtime.refining.forms.judging import REFUSED_AT, JudgeForm
from models_runtime.refining.services.judging.asking import judge_again, start_judging
from models_runtime.refining.services.judging.results import JudgedEntity, judged_entities, result_of
from models_runtime.runs.services.llm import servers

router = Router(tags=["Judgings"])
PATH = "/projects/{slug:slug}/judgings"
ONE = f"{PATH}/{{int:judging}}"
FIELDS = REFUSED_AT | {
    "judges": "judges", "number": "notes", "author": "author", "language": "language", "preset": "preset",
}  # fmt: skip


class JudgingItem(Schema):
    """A judging of an author's annotations against a gold version. `judges` are “server/model”."""

    id: int
    author: int
    name: str
    gold: int
    judges: list[str]
    rules: str
    unit: str
    threshold: float
    language: str
    job: int | None
    state: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: Judging, **more: Any) -> Self:
        return cls(
            id=row.pk, author=row.author_id, name=row.author.name, gold=row.gold_version.number,
            judges=[one.name for one in row.judges.all()], rules=row.rules, unit=row.unit, threshold=row.threshold,
            language=row.language, job=row.job.number if row.job else None, state=row.job.state if row.job else None,
            created_at=row.created_at, **more,
        )  # fmt: skip


class JudgingOut(JudgingItem):
    """A judging with its result, as the command `judge --json` gives it; null while the judges work."""

    result: dict[str, Any] | None


class NewJudging(Body):
    """Which annotations language models judge, as “server model” each. `notes`: at most this many, a fixed sample.

    `may_leave`: the notes may be sent to another machine. Without unit and temperature, the rules decide;
    without language, the prompt is in the project's. `preset` names a printed prompt for the rules: `miranda-2025-a`.
    """

    author: int = Field(ge=1, le=MAX_ID)
    gold: int = Field(ge=1, le=2**31 - 1)
    judges: list[str] = Field(max_length=20)
    may_leave: bool = False
    split: str = ""
    notes: int | None = None
    rules: str = STANDARD.key
    unit: str = ""
    temperature: float | None = None
    threshold: float = THRESHOLD
    language: str = ""
    preset: str = ""


class EntitiesWanted(Schema):
    """`kind`: discarded, FN (still readable), FP (hidden unnecessarily), beyond (hidden, not in gold), or TP."""

    kind: Literal["discarded", "FN", "FP", "beyond", "TP"] = "FN"


class EntityOut(Schema):
    """An entity in its sentence, with each judge's verdict: null without one, empty without an answer on the note.

    Offsets are in code points, end-exclusive.
    """

    note: int
    name: str
    start: int
    end: int
    label: str
    in_gold: bool
    before: str
    marked: str
    after: str
    verdict: str | None
    verdicts: dict[str, str | None]


@router.get(PATH, response=Page[JudgingItem])
def list_judgings(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the judgings of a project, the newest first."""
    access = enter(request, slug, Can.READ_NOTES)
    rows = Judging.objects.filter(project=access.project, author__in=authors_for(access))
    rows = rows.select_related("author", "gold_version", "job").prefetch_related("judges")
    return paged_rows(request, paging, rows, JudgingItem.of, newest_first=True)


@router.post(PATH, response={202: JudgingItem})
def start_judging_now(request: ApiRequest, response: HttpResponse, slug: str, body: NewJudging) -> Status[JudgingItem]:
    """Ask language models about the annotations of an author."""
    access = enter(request, slug, Can.MANAGE)
    data = body.dict() | {"judge": body.judges, "may_leave": "yes" if body.may_leave else ""}
    frozen = [version for version in versions(access.project) if version.note_count]
    wanted = check(JudgeForm(data, project=access.project, versions=frozen, servers=servers()), {"judge": "judges"})
    with named(FIELDS):
        row = start_judging(
            project=access.project, gold=wanted["gold"], author_id=wanted["author"], judges=wanted["judge"],
            may_leave=wanted["may_leave"], actor=access.user, key=new_key(access), split=wanted["split"],
            language=wanted["language"], threshold=wanted["threshold"], most_notes=wanted["notes"],
            rules=wanted["rules"], unit=wanted["unit"], temperature=wanted["temperature"],
            preset=wanted["preset"],
        )  # fmt: skip
    return _started(response, access, row)


@router.get(ONE, response=JudgingOut)
def read_judging(request: ApiRequest, slug: str, judging: int) -> JudgingOut:
    """Read a judging with its result."""
    row = _judging(enter(request, slug, Can.READ_NOTES), judging)
    live = row.job is not None and row.job.state in LIVE
    return JudgingOut.of(row, result=None if live else result_of(row))


@router.get(f"{ONE}/entities", response=Page[EntityOut])
def list_judged_entities(
    request: ApiRequest, slug: str, judging: int, paging: Query[Paging], wanted: Query[EntitiesWanted]
) -> dict[str, Any] | HttpResponseBase:
    """List the entities behind a count in their sentences. The audit log records the notes."""
    access = enter(request, slug, Can.READ_NOTES)
    row = _judging(access, judging)
    found, names = judged_entities(row, wanted.kind), [one.name for one in row.judges.all()]

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, JudgedEntity, Entry]]:
        first = after or 0
        chosen = list(enumerate(found[first : first + size], first + 1))
        rows = [[one.document, str(number), list(one.entity[:3]), None] for number, one in chosen]
        by_number = dict(chosen)
        entries = shown_in_context(access, rows, "judges")
        return [(int(entry.kind), by_number[int(entry.kind)], entry) for entry in entries]

    return paged(request, paging, fetch, lambda each: _entity(names, *each[1:]), lambda each: each[0])


@router.post(f"{ONE}/again", response={202: JudgingItem})
def ask_judges_again(request: ApiRequest, response: HttpResponse, slug: str, judging: int) -> Status[JudgingItem]:
    """Ask for missing and failed verdicts."""
    access = enter(request, slug, Can.MANAGE)
    judge_again(judging=_judging(access, judging), actor=access.user)
    return _started(response, access, _judging(access, judging))


def _judging(access: Access, pk: int) -> Judging:
    rows = Judging.objects.select_related("author", "gold_version", "job")
    return get_object_or_404(rows, project=access.project, author__in=authors_for(access), pk=pk)


def _started(response: HttpResponse, access: Access, row: Judging) -> Status[JudgingItem]:
    if row.job is not None:
        response["Location"] = job_address(access.project.slug, row.job)
    return Status(202, JudgingItem.of(row))


def _entity(names: Sequence[str], one: JudgedEntity, entry: Entry) -> EntityOut:
    start, end, label, in_gold = one.entity[:4]
    return EntityOut(
        note=entry.note, name=entry.name, start=start, end=end, label=label, in_gold=in_gold, before=entry.before,
        marked=entry.marked, after=entry.after, verdict=str(one.verdict) if one.verdict else None,
        verdicts=dict(zip(names, one.verdicts, strict=True)),
    )  # fmt: skip
