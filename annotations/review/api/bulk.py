"""Routes of bulk acts: many suggestions decided by rule or by string, after a preview, and undone by one request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from ninja import Field, ModelSchema, Query, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged
from annotations.core.api.routes import Answer, ApiRequest, Body, Code, FieldReader, ProjectRouter, check, named
from annotations.core.services import record_reads
from annotations.jobs.api import JobItem
from annotations.models import ActState, BulkAct, Job
from annotations.notes.api import codes_of, label_coded
from annotations.review.api.reviewing import Codes, coded
from annotations.review.forms import BulkForm
from annotations.review.selectors import suggested_strings
from annotations.review.selectors.bulk_rules import BulkPreview, act_for, acts_in, rule_of
from annotations.review.selectors.planted import suggestions_for
from annotations.review.selectors.precision import PrecisionFigures, planned_act, together
from annotations.review.selectors.reviewing import chosen_runs, run_authors
from annotations.review.selectors.suggested_strings import ROWS as PAGE
from annotations.review.services.bulk import COUNTS, plan_bulk, plan_string, start_bulk, start_undo

router = ProjectRouter(tags=["Bulk review"])
ACTS = "/projects/{slug:slug}/bulk-acts"
STRINGS = "/projects/{slug:slug}/suggested-strings"
SHOWN = 200


# ── Answers and bodies ───────────────────────────────────────────────────────────────────────────────────────────────


class RuleOut(Answer):
    """The rule of a bulk act. `least` is a confidence from 0 to 1; `exceptions` counts excepted suggestions."""

    kind: str
    runs: list[int]
    label: Code | None
    source: str | None
    least: float | None
    agree: int
    to: Code | None
    exceptions: Annotated[int, FieldReader(lambda but: but if isinstance(but, int) else len(but))] = Field(
        validation_alias="but"
    )
    with_gold: bool
    with_doubtful: bool


class BulkItem(ModelSchema):
    """A bulk act and its counts of suggestions. `state` is planned, working, done, undoing or undone.

    `left` were decided by somebody else first; `beside` were rejected because they conflict with accepted ones;
    `skipped` are in `skipped_notes` notes that have gold; `conflicts` stay open; `kept` could not be undone.
    """

    user: str
    rule: RuleOut

    class Meta:
        model = BulkAct
        fields: Sequence[str] = ("id", "act", "state", "planned", *COUNTS, "created_at", "ended_at")

    @classmethod
    def of(cls, row: BulkAct, codes: Codes, **more: Any) -> Self:
        rule = RuleOut.model_validate(rule_of(row.rule), context={"codes": codes})
        return cls(**vars(row) | {"user": row.user.username, "rule": rule} | more)


@dataclass(frozen=True)
class ExpectedPrecision(PrecisionFigures):
    """The precision of the open suggestions with one label."""

    label: str


class BulkWithPreview(BulkItem):
    """A bulk act; while it is planned, with a preview: as it is, with notes that have gold, with doubtful ones."""

    preview: BulkPreview | None = None
    preview_with_gold: BulkPreview | None = None
    preview_with_doubtful: BulkPreview | None = None
    precision: PrecisionFigures | None = None
    expected: list[ExpectedPrecision] = []


class NewBulkAct(Body):
    """Which suggestions to decide. `threshold`: those of at least `least` percent confidence.

    `agreed`: those that at least `agree` of the runs suggest with the same bounds and label. `runs` are ids of runs as
    in the list of reviews; `label` is a code.
    """

    act: Literal["accept", "reject"] = "accept"
    kind: Literal["threshold", "agreed"] = "threshold"
    runs: list[int] = Field(min_length=1, max_length=200)
    least: float | None = Field(None, ge=0, le=100)
    agree: int | None = Field(None, ge=2, le=200)
    label: str = Field("", max_length=60)
    source: str = Field("", max_length=80)


class Including(Body):
    """`with_gold`: include notes that already have gold. `with_doubtful`: include doubtful suggestions."""

    with_gold: bool = False
    with_doubtful: bool = False


class Chosen(Schema):
    """`run`: ids of runs as in the list of reviews, by default all runs except merged lists."""

    run: list[int] = Field([], max_length=200)

    @property
    def words(self) -> list[str]:
        return [str(one) for one in self.run]


class StringFilters(Chosen):
    label: str = Field("", max_length=60)
    order: suggested_strings.Order = "open"


class StringItem(Answer):
    """A string that runs suggest with one label. `open` suggestions wait for a decision, out of `count`.

    `skipped` are in notes that already have gold, and `doubtful` ones elsewhere: acts skip both unless asked.
    """

    id: int = Field(validation_alias="pk")
    text: str
    label: Code
    count: int
    open: int
    skipped: int
    doubtful: int
    confidence: float | None


class OccurrenceOut(Answer):
    """A suggestion in its context. Offsets are in code points, end-exclusive.

    `state` is open, accepted, rejected, gold, draft or unavailable.
    """

    suggestion: int = Field(validation_alias="alias")
    note: int
    name: str
    run: str
    label: Code
    start: int
    end: int
    before: str
    marked: str
    after: str
    confidence: float | None
    source: str
    state: str
    by: str


class StringAct(Body):
    """What to do with all open suggestions of a string in these runs, except the suggestions in `but`.

    `to`: the code of the label to accept them with; empty: the suggested one.
    """

    act: Literal["accept", "reject"]
    runs: list[int] = Field([], max_length=200)
    but: list[int] = Field([], max_length=SHOWN)
    to: str = Field("", max_length=60)


# ── Routes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get(ACTS, Can.MAKE_GOLD, response=Page[BulkItem])
def list_bulk_acts(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the bulk acts that were started, the newest first."""
    codes, rows = codes_of(access.project.pk), acts_in(access.project)

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, BulkAct]]:
        first = after or 0
        return list(enumerate(rows[first : first + size], first + 1))

    return paged(request, paging, fetch, lambda row: BulkItem.of(row[1], codes), lambda row: row[0])


@router.post(ACTS, Can.MAKE_GOLD, response={201: BulkWithPreview})
def plan_bulk_act(access: Access, body: NewBulkAct) -> BulkWithPreview:
    """Plan a bulk act. The answer is its preview; nothing is decided until it is started."""
    label = label_coded(access.project, body.label) if body.label else ""
    form = BulkForm(body.dict() | {"label": label}, access=access, runs=run_authors(access.project))
    check(form)
    with named({"label": "label", "act": "act"}):
        act = BulkAct.Act(body.act)
        row = plan_bulk(project=access.project, user=access.user, rule=form.rule, act=act)
    return with_preview(access, row)


@router.get(f"{ACTS}/{{uuid:bulk}}", Can.MAKE_GOLD, response=BulkWithPreview)
def read_bulk_act(access: Access, bulk: UUID) -> BulkWithPreview:
    """Read a bulk act: its preview while it is planned, its result afterwards."""
    return with_preview(access, act_for(access.project, bulk))


@router.post(f"{ACTS}/{{uuid:bulk}}/start", Can.MAKE_GOLD, response={200: BulkWithPreview, 202: JobItem})
def start_bulk_act(access: Access, bulk: UUID, body: Including) -> Job | Status[BulkWithPreview]:
    """Start a planned bulk act. Many suggestions are decided by a job (202)."""
    job = start_bulk(bulk=act_for(access.project, bulk), actor=access.user, **body.dict())
    return job or Status(200, with_preview(access, act_for(access.project, bulk)))


@router.post(f"{ACTS}/{{uuid:bulk}}/undo", Can.MAKE_GOLD, response={200: BulkWithPreview, 202: JobItem})
def undo_bulk_act(access: Access, bulk: UUID) -> Job | Status[BulkWithPreview]:
    """Undo all decisions of a bulk act that nobody has changed since."""
    job = start_undo(bulk=act_for(access.project, bulk), actor=access.user)
    return job or Status(200, with_preview(access, act_for(access.project, bulk)))


def with_preview(access: Access, row: BulkAct) -> BulkWithPreview:
    codes = codes_of(access.project.pk)
    if row.state != ActState.PLANNED:
        return BulkWithPreview.of(row, codes)
    plan = planned_act(row, access.user)
    return BulkWithPreview.of(
        row, codes, preview=plan.found, preview_with_gold=plan.with_gold, preview_with_doubtful=plan.with_doubtful,
        precision=PrecisionFigures.of(together(plan.expected), plan.only_drawn),
        expected=[ExpectedPrecision.of(one, plan.only_drawn, label=codes[one.label]) for one in plan.expected],
    )  # fmt: skip


@router.get(STRINGS, Can.MAKE_GOLD, response=Page[StringItem])
def list_suggested_strings(
    request: ApiRequest, access: Access, paging: Query[Paging], wanted: Query[StringFilters]
) -> PageAnswer:
    """List strings with open suggestions: the most frequent first, or the least certain (`order`)."""
    runs = [run.pk for run in chosen_runs(access.project, wanted.words)]
    label = label_coded(access.project, wanted.label) if wanted.label else None
    item = coded(StringItem, access)

    def page_of(number: int) -> tuple[list[tuple[int, suggested_strings.StringRow]], bool]:
        """The rows of a page that wait for something, each with its place in the whole list."""
        page = suggested_strings.strings(runs, label=label, order=wanted.order, number=number)
        places = {row.pk: (number - 1) * PAGE + at for at, row in enumerate(page.rows, 1)}
        waiting = suggested_strings.as_waiting(page, runs, access.project, access.user).rows
        return [(places[row.pk], row) for row in waiting], page.more

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, suggested_strings.StringRow]]:
        rows: list[tuple[int, suggested_strings.StringRow]] = []
        number, more = (after or 0) // PAGE + 1, True
        while more and len(rows) < size:
            found, more = page_of(number)
            rows += [row for row in found if row[0] > (after or 0)]
            number += 1
        notes = (row.note for _place, row in rows[:size] if row.note)
        record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="strings")
        return rows[:size]

    return paged(request, paging, fetch, lambda row: item(row[1]), lambda row: row[0])


@router.get(f"{STRINGS}/{{int:string}}/suggestions", Can.MAKE_GOLD, response=Page[OccurrenceOut])
def list_occurrences(
    request: ApiRequest, access: Access, string: int, paging: Query[Paging], wanted: Query[Chosen]
) -> PageAnswer:
    """List all suggestions of a string in their contexts, note by note. The audit log records the notes."""
    runs = [run.pk for run in chosen_runs(access.project, wanted.words)]
    spans = suggested_strings.spans_of(suggested_strings.string_for(access.project, string), runs)
    item = coded(OccurrenceOut, access)

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, suggested_strings.Occurrence]]:
        first = after or 0
        return list(enumerate(suggested_strings.looked_at(spans[first : first + size], access, size), first + 1))

    return paged(request, paging, fetch, lambda row: item(row[1]), lambda row: row[0])


@router.post(f"{STRINGS}/{{int:string}}/bulk-acts", Can.MAKE_GOLD, response={201: BulkWithPreview})
def plan_string_act(access: Access, string: int, body: StringAct) -> BulkWithPreview:
    """Plan a bulk act on a string. The answer is its preview; nothing is decided until it is started."""
    found = suggested_strings.string_for(access.project, string)
    runs = [run.pk for run in chosen_runs(access.project, [str(one) for one in body.runs])]
    to = label_coded(access.project, body.to, "to") if body.to else None
    with named({"page": "but", "act": "act", "label": "to"}):
        row = plan_string(
            string=found, runs=runs, act=body.act, but=suggestions_for(access.project, body.but), to=to,
            project=access.project, user=access.user,
        )  # fmt: skip
    return with_preview(access, row)
