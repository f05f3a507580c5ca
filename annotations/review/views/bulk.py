"""Review many suggestions at once, by rule or by string. A preview with counts and precision comes first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from annotations.core import requests
from annotations.core.access import Access, Can
from annotations.core.answers import fresh_token, json_answers
from annotations.core.batches import outcomes, read_batch
from annotations.core.changes import UNDO, change_id_of, malformed
from annotations.core.forms import add_error
from annotations.core.labels import labels_of
from annotations.core.services import ServiceError, record_reads
from annotations.jobs.services.queue import job_of
from annotations.models import ActState, Author, BulkAct, Job, Label, SuggestedString
from annotations.review.forms import BulkForm
from annotations.review.rules.precision import FEW, Estimate, by_notes
from annotations.review.selectors.bulk_rules import BulkRule, act_for, acts_in, open_of, rule_of, waiting_by_string
from annotations.review.selectors.planted import suggestions_for
from annotations.review.selectors.precision import chosen_by_order, observed_in, planned_act, together
from annotations.review.selectors.reviewing import chosen_runs, run_authors
from annotations.review.selectors.suggested_strings import (
    Order,
    StringPage,
    StringRow,
    as_waiting,
    looked_at,
    of_string,
    sampled,
    spans_of,
    string_for,
    strings,
)
from annotations.review.services.bulk import AT_ONCE, decide_string, plan_bulk, plan_string, start_bulk, start_undo
from annotations.text.names import whole_number

# Examples in a preview; acts in the list of recent ones; occurrences of a string per page.
EXAMPLES, RECENT, SHOWN = 8, 20, 200


@requests.in_project(Can.MAKE_GOLD, *requests.FORM)
def review_bulk_new(request: requests.Request, access: Access) -> HttpResponse:
    """The form of a bulk act. A POST plans the act and redirects to its preview, without deciding anything."""
    runs = run_authors(access.project)
    chosen = chosen_runs(access.project, request.GET.getlist("run"))
    form = BulkForm(
        requests.posted(request), access=access, runs=runs,
        initial={"runs": [run.pk for run in chosen], "kind": "agreed" if _may_agree(chosen) else "threshold"},
    )  # fmt: skip
    if request.method == "POST" and form.is_valid():
        try:
            act = BulkAct.Act(form.cleaned_data["act"])
            bulk = plan_bulk(project=access.project, user=access.user, rule=form.rule, act=act)
        except ServiceError as error:
            add_error(form, error)
        else:
            return _to(access.slug, bulk)
    recent = acts_in(access.project)
    context = {"form": form, "runs": runs, "chosen": chosen, "recent": recent[:RECENT]}
    return render(request, "review/bulk_new.html", context, status=422 if form.errors else 200)


def _may_agree(runs: Sequence[Author]) -> bool:
    return len(runs) > 1 or any(run.merged_from is not None for run in runs)


@requests.in_project(Can.MAKE_GOLD)
def review_bulk(request: requests.Request, access: Access, bulk: UUID) -> HttpResponse:
    """One bulk act: its preview with the button to start it, or its result with the button to undo it."""
    row = act_for(access.project, bulk)
    rule, labels = rule_of(row.rule), _labels_by_id(access)
    context = {
        "bulk": row,
        "rule": rule,
        "runs": _names(access, rule.runs),
        "beside": _rejects_conflicting(access, row, rule),
        "label": labels.get(rule.label),
        "to": labels.get(rule.to),
        "labels": labels,
        "at_once": AT_ONCE,
        "mine": row.user_id == access.user.pk,
    }
    if row.state == ActState.PLANNED:
        context |= _planned(access, row, rule, labels)
    return render(request, "review/bulk.html", context)


def _planned(access: Access, row: BulkAct, rule: BulkRule, labels: Mapping[int | None, Any]) -> dict[str, Any]:
    """The preview of an act that was not started: counts, precision and examples."""
    plan = planned_act(row, access.user)
    precision, decided = together(plan.expected), plan.found.decided
    more, doubtful = (max(0, each.decided - decided) if each else 0 for each in (plan.with_gold, plan.with_doubtful))
    seed = row.pk.hex[:8]
    examples = looked_at(sampled(open_of(rule, access.project, access.user), seed, EXAMPLES), access, EXAMPLES)
    return {
        "found": plan.found,
        "count": decided,
        "more": more,
        "doubtful": doubtful,
        "wider": plan.with_gold,
        "precision": precision,
        "few": precision.observed.counted < FEW or precision.observed.few,
        "only_drawn": plan.only_drawn,
        "rows": [(labels.get(each.label), each) for each in plan.expected],
        "examples": examples,
        "seed": seed,
        "text": examples[0].marked if rule.kind == "string" and examples else "",
        "job": decided > AT_ONCE,
    }


# ── By string ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requests.in_project(Can.MAKE_GOLD)
def review_strings(request: requests.Request, access: Access) -> HttpResponse:
    """The strings of the chosen runs. Query string: ?run=ID…, ?label=ID, ?order=open|uncertainty, ?page=N."""
    if requests.wants_json(request):
        return fresh_token(request)
    chosen = chosen_runs(access.project, request.GET.getlist("run"))
    label = requests.number(request.GET, "label")
    order: Order = "uncertainty" if request.GET.get("order") == "uncertainty" else "open"
    page_number = min(max(requests.number(request.GET, "page") or 1, 1), 100_000)
    runs = [run.pk for run in chosen]
    page = as_waiting(strings(runs, label=label, order=order, number=page_number), runs, access.project, access.user)
    notes = (row.note for row in page.rows if row.note)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="strings")
    labels = _labels_by_id(access)
    context = {
        "runs": run_authors(access.project),
        "chosen": chosen,
        "page": page,
        "rows": [(row, labels.get(row.label)) for row in _by_open(page.rows, order)],
        "run_ids": ",".join(map(str, runs)),
        "labels": labels_of(access.project.pk),
        "label": label,
        "order": order,
        "narrowed": label is not None or page_number > 1 or page.more,
    }
    return render(request, "review/strings.html", context)


def _by_open(rows: list[StringRow], order: Order) -> list[StringRow]:
    """The rows of a page by what is open for this person: the stored counts, which chose them, know only decisions."""
    return sorted(rows, key=lambda row: -row.open) if order == "open" else rows


@dataclass(frozen=True, slots=True)
class StringAnswer:
    """An answer to a string in these runs. `change_id` is the id of the bulk act; undo names it in `act`."""

    change_id: UUID
    string: int
    answer: str
    runs: Sequence[int]
    act: UUID | None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        string = whole_number(str(data.get("string")))
        runs = [whole_number(each) for each in str(data.get("runs", "")).split(",")]
        answer, act = data.get("answer"), requests.uuid_of(data.get("of"))
        if string is None or answer not in (*BulkAct.Act.values, UNDO) or (answer == UNDO and act is None):
            raise malformed(_("This answer is not possible. Nothing was changed. Reload the page."))
        return cls(change_id_of(data), string, answer, [run for run in runs if run is not None], act)


@require_POST
@json_answers(_("You don't have permission to review in this project."))
def review_strings_decide(request: requests.Request, slug: str) -> HttpResponse:
    """Decide strings in the order of `changes` (annotations.core.batches), and return their rows as they are now."""
    access, data = requests.enter_page(request, slug, Can.MAKE_GOLD), requests.body_of(request)
    answers, errors = read_batch(data, StringAnswer.of)
    labels, parts = _labels_by_id(access), {}
    for place, each in answers.items():
        try:
            string = string_for(access.project, each.string)
            runs = [run.pk for run in chosen_runs(access.project, map(str, each.runs))]
            bulk = _decided(access, string, runs, each)
        except ServiceError as error:
            errors[place] = error
            continue
        row = of_string(string, runs)
        shown = as_waiting(StringPage([row], 1, more=False), runs, access.project, access.user).rows
        record_reads(
            actor=access.user, project_id=access.project.pk, notes=[row.note] if row.note else [], what="strings"
        )
        context: dict[str, Any] = {"row": shown[0] if shown else replace(row, open=0), "look": labels.get(row.label)}
        context |= {"access": access, "bulk": bulk, "chosen": Author.objects.filter(pk__in=runs)}
        context["run_ids"] = ",".join(map(str, runs))
        parts[f"s{each.string}"] = render_to_string("review/strings_row.html", context, request)
    return JsonResponse({"outcomes": outcomes(len(data["changes"]), errors), "parts": parts, "counts": {}})


def _decided(access: Access, string: SuggestedString, runs: Sequence[int], answer: StringAnswer) -> BulkAct | None:
    """The act that the answer made; None once it is undone."""
    project, user = access.project, access.user
    if answer.act is None or answer.answer != UNDO:
        return decide_string(
            project=project, user=user, string=string, runs=runs, act=answer.answer, pk=answer.change_id
        )
    start_undo(bulk=act_for(project, answer.act), actor=user)
    return None


@requests.in_project(Can.MAKE_GOLD, *requests.FORM)
def review_string(request: requests.Request, access: Access, pk: int) -> HttpResponse:
    """All occurrences of one string, selected. A POST decides the selected ones and redirects to the bulk act.

    If suggestions are skipped, doubtful or in conflict, the act is only planned: its page asks about them.

    POST fields: `act` (accept, reject), `to` (id of the label to accept with), `shown` and `tick` (aliases of the shown
    and of the selected suggestions).
    """
    string = string_for(access.project, pk)
    chosen = chosen_runs(access.project, request.GET.getlist("run"))
    runs = [run.pk for run in chosen]
    if request.method == "POST":
        try:
            bulk = _plan_string(request, access, string, runs)
            if bulk.planned and not (bulk.skipped or bulk.doubtful or bulk.conflicts):
                return _begin(request, access, bulk.pk, start_bulk)
            return _to(access.slug, bulk)
        except ServiceError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.get_full_path(), status=303)
    spans = spans_of(string, runs)
    page = min(max(requests.number(request.GET, "page") or 1, 1), 100_000)
    rows = looked_at(spans[(page - 1) * SHOWN : page * SHOWN + 1], access, SHOWN)
    key = string.string_key, string.label_id
    waiting = waiting_by_string([key], runs, access.project, access.user)[key]
    labels, by_order = _labels_by_id(access), chosen_by_order(runs)
    context = {
        "string": string,
        "text": rows[0].marked if rows else "",
        "label": labels.get(string.label_id),
        "labels": labels_of(access.project.pk),
        "looks": labels,
        "chosen": chosen,
        "rows": rows[:SHOWN],
        "page": page,
        "more": len(rows) > SHOWN,
        "open": waiting.open,
        "skipped": waiting.skipped,
        "skipped_notes": waiting.notes,
        "doubtful": waiting.doubtful,
        "precision": _precision_of(string, runs, by_order),
        "only_drawn": bool(by_order),
    }
    return render(request, "review/string.html", context)


def _plan_string(request: requests.Request, access: Access, string: SuggestedString, runs: Sequence[int]) -> BulkAct:
    """Plan the act. Suggestions that were shown but not selected are exceptions; other pages are decided too."""
    shown, ticked = (
        suggestions_for(access.project, requests.numbers(request.POST.getlist(name)[:SHOWN]))
        for name in ("shown", "tick")
    )
    return plan_string(
        string=string, runs=runs, act=request.POST.get("act", ""), but=shown - ticked,
        to=requests.number(request.POST, "to"), project=access.project, user=access.user,
    )  # fmt: skip


def _precision_of(string: SuggestedString, runs: Sequence[int], by_order: Sequence[int]) -> Estimate:
    """The precision of this string's suggestions that were decided one by one."""
    counts = observed_in(spans_of(string, runs), by_order)
    return by_notes(list(counts.get(string.label_id, {}).values()))


# ── Shared ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _to(slug: str, bulk: BulkAct) -> HttpResponse:
    return HttpResponseRedirect(reverse("review_bulk", args=[slug, bulk.pk]), status=303)


def _labels_by_id(access: Access) -> dict[int | None, dict[str, Any]]:
    """Labels by id, including merged ones, which old acts may name."""
    rows = Label.objects.filter(label_set__project=access.project).select_related("category")
    return {label.pk: {"id": label.pk, "name": label.name, "hue": label.category.hue} for label in rows}


def _rejects_conflicting(access: Access, bulk: BulkAct, rule: BulkRule) -> bool:
    """Whether accepting may reject conflicting suggestions, which only merged lists have."""
    merged = Author.objects.filter(project=access.project, pk__in=rule.runs, merged_from__isnull=False)
    return bulk.act == BulkAct.Act.ACCEPT and merged.exists()


def _names(access: Access, runs: Sequence[int]) -> list[str]:
    rows = Author.objects.filter(project=access.project, pk__in=runs)
    return list(rows.order_by("pk").values_list("name", flat=True))


# The buttons of a bulk act: start and undo. They redirect to the page of the job, or of the act if there is no job.


@requests.in_project(Can.MAKE_GOLD, "POST")
def bulk_start(request: requests.Request, access: Access, bulk: UUID) -> HttpResponse:
    """Start the act.

    POST `with_gold`: 1 to include notes that already have gold. `with_doubtful`: 1 to include doubtful suggestions.
    """
    with_gold, with_doubtful = (request.POST.get(name) == "1" for name in ("with_gold", "with_doubtful"))
    return _begin(request, access, bulk, partial(start_bulk, with_gold=with_gold, with_doubtful=with_doubtful))


@requests.in_project(Can.MAKE_GOLD, "POST")
def bulk_undo(request: requests.Request, access: Access, bulk: UUID) -> HttpResponse:
    return _begin(request, access, bulk, start_undo)


@requests.in_project(Can.MAKE_GOLD)
def bulk_job(request: requests.Request, access: Access, bulk: UUID) -> HttpResponse:
    """Redirect from an act to its job; 404 if the act needed no job."""
    row = act_for(access.project, bulk)
    job = job_of(row, "bulk_undo") or job_of(row, "bulk")
    if job is None:
        raise Http404("No such job.")
    return redirect("job", access.slug, job.number)


def _begin(request: requests.Request, access: Access, bulk: UUID, begin: Callable[..., Job | None]) -> HttpResponse:
    row = act_for(access.project, bulk)
    try:
        job = begin(bulk=row, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        job = None
    return redirect("job", access.slug, job.number) if job else redirect("review_bulk", access.slug, row.pk)
