"""Routes of bulk acts: many suggestions decided by rule or by string, after a preview, and undone by one request."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from ninja import Query, Router
from ninja.responses import Status

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, Paging, paged
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.events import record_reads
from annotations.jobs.api import JobItem, started
from annotations.models import BulkAct, BulkActState, Job
from annotations.notes.api import codes_of, label_coded
from annotations.notes.events import NOTES_SEARCHED
from annotations.review.api.bulk_schemas import (
    BulkItem,
    BulkWithPreview,
    Chosen,
    ExpectedOut,
    Including,
    NewBulkAct,
    OccurrenceOut,
    PrecisionOut,
    PreviewOut,
    StringAct,
    StringFilters,
    StringItem,
)
from annotations.review.forms import BulkForm
from annotations.review.selectors.bulk_preview import preview, with_doubtful, with_gold
from annotations.review.selectors.bulk_rules import rule_of
from annotations.review.selectors.occurrences import Occurrence, occurrences
from annotations.review.selectors.planted import suggestions_for
from annotations.review.selectors.precision import chosen_by_order, expected_of, figures, together
from annotations.review.selectors.reviewing import chosen_runs, run_authors
from annotations.review.selectors.suggested_strings import ROWS as PAGE
from annotations.review.selectors.suggested_strings import StringRow, as_waiting, spans_of, string_for, strings
from annotations.review.services.bulk import plan_bulk, plan_string
from annotations.review.services.starting import start_bulk, start_undo

router = Router(tags=["Bulk review"])
ACTS = "/projects/{slug:slug}/bulk-acts"
STRINGS = "/projects/{slug:slug}/suggested-strings"


@router.get(ACTS, response=Page[BulkItem])
def list_bulk_acts(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the bulk acts that were started, the newest first."""
    access = enter(request, slug, Can.MAKE_GOLD)
    codes = codes_of(access.project.pk)
    rows = BulkAct.objects.filter(project=access.project).exclude(state=BulkActState.PLANNED).select_related("user")

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, BulkAct]]:
        first = after or 0
        return list(enumerate(rows.order_by("-created_at", "pk")[first : first + size], first + 1))

    return paged(request, paging, fetch, lambda row: BulkItem.of(row[1], codes), lambda row: row[0])


@router.post(ACTS, response={201: BulkWithPreview})
def plan_bulk_act(request: ApiRequest, slug: str, body: NewBulkAct) -> Status[BulkWithPreview]:
    """Plan a bulk act. The answer is its preview; nothing is decided until it is started."""
    access = enter(request, slug, Can.MAKE_GOLD)
    label = label_coded(access.project, body.label) if body.label else ""
    form = BulkForm(body.dict() | {"label": label}, access=access, runs=run_authors(access.project))
    check(form)
    with named({"label": "label", "act": "act"}):
        act = BulkAct.Act(body.act)
        row = plan_bulk(project=access.project, user=access.user, rule=form.rule, act=act)
    return Status(201, _with_preview(access, row))


@router.get(f"{ACTS}/{{uuid:bulk}}", response=BulkWithPreview)
def read_bulk_act(request: ApiRequest, slug: str, bulk: UUID) -> BulkWithPreview:
    """Read a bulk act: its preview while it is planned, its result afterwards."""
    access = enter(request, slug, Can.MAKE_GOLD)
    return _with_preview(access, _bulk(access, bulk))


@router.post(f"{ACTS}/{{uuid:bulk}}/start", response={200: BulkWithPreview, 202: JobItem})
def start_bulk_act(
    request: ApiRequest, response: HttpResponse, slug: str, bulk: UUID, body: Including
) -> Status[BulkWithPreview] | Status[JobItem]:
    """Start a planned bulk act. Many suggestions are decided by a job (202)."""
    begin = partial(start_bulk, with_gold=body.with_gold, with_doubtful=body.with_doubtful)
    return _begin(request, response, slug, bulk, begin)


@router.post(f"{ACTS}/{{uuid:bulk}}/undo", response={200: BulkWithPreview, 202: JobItem})
def undo_bulk_act(
    request: ApiRequest, response: HttpResponse, slug: str, bulk: UUID
) -> Status[BulkWithPreview] | Status[JobItem]:
    """Undo all decisions of a bulk act that nobody has changed since."""
    return _begin(request, response, slug, bulk, start_undo)


@router.get(STRINGS, response=Page[StringItem])
def list_suggested_strings(
    request: ApiRequest, slug: str, paging: Query[Paging], wanted: Query[StringFilters]
) -> dict[str, Any] | HttpResponseBase:
    """List strings with open suggestions: the most frequent first, or the least certain (`order`)."""
    access = enter(request, slug, Can.MAKE_GOLD)
    runs = [run.pk for run in chosen_runs(access.project, wanted.words)]
    label = label_coded(access.project, wanted.label) if wanted.label else None
    codes = codes_of(access.project.pk)

    def page_of(number: int) -> tuple[list[tuple[int, StringRow]], bool]:
        """The rows of a page that wait for something, each with its place in the whole list."""
        page = strings(runs, label=label, order=wanted.order, number=number)
        places = {row.pk: (number - 1) * PAGE + at for at, row in enumerate(page.rows, 1)}
        waiting = as_waiting(page, runs, access.project, access.user).rows
        return [(places[row.pk], row) for row in waiting], page.more

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, StringRow]]:
        rows: list[tuple[int, StringRow]] = []
        number, more = (after or 0) // PAGE + 1, True
        while more and len(rows) < size:
            found, more = page_of(number)
            rows += [row for row in found if row[0] > (after or 0)]
            number += 1
        notes = (row.note for _place, row in rows[:size] if row.note)
        record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="strings")
        return rows[:size]

    return paged(request, paging, fetch, lambda row: StringItem.of(row[1], codes), lambda row: row[0])


@router.get(f"{STRINGS}/{{int:string}}/suggestions", response=Page[OccurrenceOut])
def list_occurrences(
    request: ApiRequest, slug: str, string: int, paging: Query[Paging], wanted: Query[Chosen]
) -> dict[str, Any] | HttpResponseBase:
    """List all suggestions of a string in their contexts, note by note. The audit log records the notes."""
    access = enter(request, slug, Can.MAKE_GOLD)
    runs = [run.pk for run in chosen_runs(access.project, wanted.words)]
    spans, codes = spans_of(string_for(access.project, string), runs), codes_of(access.project.pk)

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, Occurrence]]:
        first = after or 0
        rows = occurrences(spans[first : first + size], access.project.pk, access.user)
        notes = sorted({row.note for row in rows})
        record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="suggestions")
        if notes:
            NOTES_SEARCHED.record(
                actor=access.user,
                project_id=access.project.pk,
                data={"review": True, "notes": notes, "hits": len(rows)},
            )
        return list(enumerate(rows, first + 1))

    return paged(request, paging, fetch, lambda row: OccurrenceOut.of(row[1], codes), lambda row: row[0])


@router.post(f"{STRINGS}/{{int:string}}/bulk-acts", response={201: BulkWithPreview})
def plan_string_act(request: ApiRequest, slug: str, string: int, body: StringAct) -> Status[BulkWithPreview]:
    """Plan a bulk act on a string. The answer is its preview; nothing is decided until it is started."""
    access = enter(request, slug, Can.MAKE_GOLD)
    found = string_for(access.project, string)
    runs = [run.pk for run in chosen_runs(access.project, [str(one) for one in body.runs])]
    to = label_coded(access.project, body.to, "to") if body.to else None
    with named({"page": "but", "act": "act", "label": "to"}):
        row = plan_string(
            string=found, runs=runs, act=body.act, but=suggestions_for(access.project, body.but), to=to,
            project=access.project, user=access.user,
        )  # fmt: skip
    return Status(201, _with_preview(access, row))


# ── Shared ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bulk(access: Access, pk: UUID) -> BulkAct:
    row = BulkAct.objects.select_related("project", "user").filter(project=access.project, pk=pk).first()
    if row is None:
        raise Http404("No such bulk act.")
    return row


def _begin(
    request: ApiRequest, response: HttpResponse, slug: str, pk: UUID, begin: Callable[..., Job | None]
) -> Status[BulkWithPreview] | Status[JobItem]:
    access = enter(request, slug, Can.MAKE_GOLD)
    job = begin(bulk=_bulk(access, pk), actor=access.user)
    return started(response, slug, job) if job else Status(200, _with_preview(access, _bulk(access, pk)))


def _with_preview(access: Access, row: BulkAct) -> BulkWithPreview:
    codes = codes_of(access.project.pk)
    if row.state != BulkActState.PLANNED:
        return BulkWithPreview.of(row, codes)
    rule, asked = rule_of(row.rule), (row.act, access.project, access.user)
    found = preview(rule, *asked)
    chosen = chosen_by_order(rule.runs)
    by_label, only_drawn = expected_of(rule, access.project, access.user, chosen), bool(chosen)
    return BulkWithPreview.of(
        row, codes, preview=PreviewOut.of(found),
        preview_with_gold=PreviewOut.of(with_gold(rule, *asked)) if found.skipped else None,
        preview_with_doubtful=PreviewOut.of(with_doubtful(rule, *asked)) if found.doubtful else None,
        precision=PrecisionOut(**figures(together(by_label), only_drawn)),
        expected=[ExpectedOut(label=codes[one.label], **figures(one, only_drawn)) for one in by_label],
    )  # fmt: skip
