"""Routes of judgings: language models judge annotations. List, start, read, the entities behind a count, ask again."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, authors_for
from annotations.core.api import routes
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.gold.selectors import versions
from annotations.jobs.api import new_key
from annotations.jobs.services.queue import LIVE
from annotations.notes.api.in_context import paged_in_context, sentence_of
from annotations.notes.selectors.in_context import Entry
from annotations.scores.rules.judging import STANDARD, THRESHOLD
from annotations.text.names import MAX_ID
from models_runtime.models import Judging
from models_runtime.refining.forms import JUDGING_REFUSED_AT, JudgeForm
from models_runtime.refining.services.judging import judge_again, judging_for, start_judging
from models_runtime.refining.services.judging_results import JudgedEntity, judged_entities, result_of, row_of_entity
from models_runtime.runs.services.llm import servers

router = routes.ProjectRouter(tags=["Judgings"])
PATH = "/projects/{slug:slug}/judgings"
ONE = f"{PATH}/{{int:judging}}"
One = Annotated[Judging, judging_for]
FIELDS = JUDGING_REFUSED_AT | {"number": "notes", "notes": "notes", "author": "author", "preset": "preset"}


class JudgingItem(routes.Answer):
    """A judging of an author's annotations against a gold version. `judges` are “server/model”."""

    id: int
    author: int = Field(validation_alias="author_id")
    name: str = Field(validation_alias="author.name")
    gold: Annotated[int, routes.attribute("number")] = Field(validation_alias="gold_version")
    judges: list[Annotated[str, routes.attribute("name")]]
    rules: str
    unit: str
    threshold: float
    language: str
    job: routes.JobNumber
    state: routes.JobStateName
    created_at: datetime


class JudgingOut(JudgingItem):
    """A judging with its result: figures by judge and by majority, and exact counts; null while the judges work."""

    result: dict[str, Any] | None


class NewJudging(routes.Body):
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


class EntityOut(routes.SpanInSentence):
    """An entity in its sentence, with each judge's verdict: null without one, empty without an answer on the note.

    Offsets are in code points, end-exclusive.
    """

    label: str
    in_gold: bool
    verdict: str | None
    verdicts: dict[str, str | None]


@router.get(PATH, Can.READ_NOTES, response=Page[JudgingItem])
def list_judgings(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the judgings of a project, the newest first."""
    rows = Judging.objects.filter(project=access.project, author__in=authors_for(access))
    rows = rows.select_related("author", "gold_version", "job").prefetch_related("judges")
    return paged_rows(request, paging, rows, JudgingItem.from_orm, newest_first=True)


@router.post(PATH, Can.MANAGE, response={202: JudgingItem})
def start_judging_now(access: Access, body: NewJudging) -> Judging:
    """Ask language models about the annotations of an author."""
    data = body.dict() | {"judge": body.judges, "may_leave": "yes" if body.may_leave else ""}
    frozen = [version for version in versions(access.project) if version.note_count]
    wanted = routes.check(
        JudgeForm(data, project=access.project, versions=frozen, servers=servers()), {"judge": "judges"}
    )
    with routes.named(FIELDS):
        return start_judging(project=access.project, actor=access.user, key=new_key(access), **wanted)


@router.get(ONE, Can.READ_NOTES, response=JudgingOut)
def read_judging(access: Access, judging: One) -> JudgingOut:
    """Read a judging with its result."""
    live = judging.job is not None and judging.job.state in LIVE
    return JudgingOut(**JudgingItem.from_orm(judging).dict(), result=None if live else result_of(judging))


@router.get(f"{ONE}/entities", Can.READ_NOTES, response=Page[EntityOut])
def list_judged_entities(
    request: routes.ApiRequest,
    access: Access,
    judging: One,
    paging: Query[Paging],
    wanted: Query[EntitiesWanted],
) -> PageAnswer:
    """List the entities behind a count in their sentences. The audit log records the notes."""
    found, names = judged_entities(judging, wanted.kind), [one.name for one in judging.judges.all()]

    return paged_in_context(request, paging, access, found, row_of_entity, partial(_entity, names), "judges")


@router.post(f"{ONE}/again", Can.MANAGE, response={202: JudgingItem})
def ask_judges_again(access: Access, judging: One) -> Judging:
    """Ask for missing and failed verdicts."""
    judge_again(judging=judging, actor=access.user)
    return judging_for(access, judging.pk)


def _entity(names: Sequence[str], one: JudgedEntity, entry: Entry) -> EntityOut:
    start, end, label, in_gold = one.entity[:4]
    verdicts = dict(zip(names, one.verdicts, strict=True))
    return EntityOut(
        start=start, end=end, label=label, in_gold=in_gold, verdict=str(one.verdict) if one.verdict else None,
        verdicts=verdicts, **sentence_of(entry),
    )  # fmt: skip
