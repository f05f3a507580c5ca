"""Pages of injected errors: the list with the form, the bench of an injected run, and the errors behind a figure."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.access import Access, Can, authors_for
from annotations.core.forms import attempted
from annotations.core.requests import (
    FORM,
    Request,
    error_as_message,
    in_project,
    number,
    one_of,
    paged,
    render_part,
    takes_uploads,
)
from annotations.gold.selectors import versions
from annotations.jobs.api import form_key, form_token
from annotations.jobs.services.status import status_of
from annotations.models import Author
from annotations.notes.selectors.in_context import label_looks, look_of, with_context
from annotations.scores.selectors import annotation_set_ids
from models_runtime.models import InjectedRun
from models_runtime.refining.forms import INJECTION_REFUSED_AT, AcceptForm, InjectForm
from models_runtime.refining.selectors import systemic_errors
from models_runtime.refining.services import bench, injecting

ROWS, PAGE, CLUSTERS = 30, 25, 10
SEED = 7
KIND_NAMES = {
    "all": gettext_lazy("All errors"),
    "caught": gettext_lazy("Caught"),
    "missed": gettext_lazy("Not caught"),
    "lost": gettext_lazy("Lost"),
    "collateral": gettext_lazy("Collateral"),
}


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def injections(request: Request, access: Access) -> HttpResponse:
    """List the injected runs, newest first, or inject errors. After an error, the form keeps its values."""
    frozen = [version for version in versions(access.project) if version.span_count]
    posted = (request.POST, request.FILES) if request.method == "POST" else ()
    form = InjectForm(*posted, auto_id="inject-%s", project=access.project, versions=frozen)
    if row := attempted(form, lambda: _start(request, access, form.cleaned_data), INJECTION_REFUSED_AT):
        return redirect("injection", access.slug, row.pk)
    rows = InjectedRun.objects.filter(project=access.project).select_related(
        "author", "gold_version", "job", "created_by"
    )
    page = paged(request, rows, ROWS)
    context = {
        "form": form,
        "versions": frozen,
        "page": page,
        "rows": [(row, status_of(row.job, access) if row.job else None) for row in page],
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "refining/injecting/injections.html", context, status=422 if form.is_bound else 200)


def _start(request: Request, access: Access, cleaned: dict[str, Any]) -> InjectedRun:
    chosen = {name: cleaned[name] for name in ("gold", "rules", "rate", "seed", "name")}
    key = form_key(request, access)
    return injecting.start_injection(
        project=access.project, actor=access.user, key=key, terms=cleaned["vocabulary"], **chosen
    )


@in_project(Can.MANAGE)
def injection(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show the bench of an injected run: the whole page, or for htmx the part that changes while its job works."""
    row = bench.injection_for(access, pk)
    status = status_of(row.job, access) if row.job else None
    context: dict[str, Any] = {"run": row, "status": status, "poll_url": request.path}
    if bench.is_complete(row):
        refiners = bench.refiners_of(row, authors_for(access))
        found = bench.bench_of(row, refiners)
        context |= {
            "bench": found,
            "rules": [(rule, bench.rule_name(rule), cells) for rule, cells in found["rules"]],
            "possible": [(bench.rule_name(rule), count) for rule, count in row.possible_by_rule().items()],
        }
    return render_part(request, "refining/injecting/injection.html", "refining/injecting/state.html", context)


@in_project(Can.MANAGE)
def injected_errors(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show injected errors in their sentences: of ?rule=, and with ?author= and ?kind= what an author did with them."""
    row = bench.injection_for(access, pk)
    author = _author_of(request, access, row)
    rules = ["", *row.rules]
    kind = one_of(request, "kind", bench.KINDS) if author else "all"
    rule = one_of(request, "rule", rules) if kind != "collateral" else ""
    found = bench.errors_behind(row, author, kind, rule) if bench.is_complete(row) else []
    page = paged(request, found, PAGE)
    context = {
        "run": row,
        "author": author,
        "kind": kind,
        "kind_name": KIND_NAMES[kind],
        "kinds": list(KIND_NAMES.items()) if author else [],
        "rule": rule,
        "rule_name": bench.rule_name(rule),
        "rules": [(one, bench.rule_name(one)) for one in row.rules],
        "page": page,
        "entries": _in_context(access, row, author, list(page.object_list)),
    }
    return render(request, "refining/injecting/errors.html", context)


@in_project(Can.MANAGE, *FORM)
def systemic(request: Request, access: Access) -> HttpResponse:
    """Show the clusters of rejected suggestions with ?seed=, accept one, or remove an accepted systemic error."""
    if "remove" in request.POST:
        with error_as_message(request):
            injecting.remove_systemic(project=access.project, name=request.POST["remove"], actor=access.user)
        return redirect("systemic_errors", access.slug)
    sent = request.method == "POST"
    form = AcceptForm(request.POST if sent else None, auto_id="accept-%s")
    row = attempted(
        form,
        lambda: injecting.accept_cluster(project=access.project, actor=access.user, **form.cleaned_data),
        {"exists": "name"},
    )
    if row:
        messages.success(request, _("Accepted as the rule %(rule)s.") % {"rule": injecting.rule_of(row)})
        return redirect("systemic_errors", access.slug)
    wanted = number(request.POST if sent else request.GET, "seed", injecting.MOST_SEED)
    seed = SEED if wanted is None else wanted
    page = paged(request, injecting.clusters_of(access.project, seed), CLUSTERS)
    context = {
        "form": form,
        "page": page,
        "accepted": [(row, injecting.rule_of(row)) for row in systemic_errors(access.project)],
        "clusters": _clusters(access, list(page.object_list), form, seed),
    }
    return render(request, "refining/injecting/systemic.html", context, status=422 if sent else 200)


def _clusters(
    access: Access, found: list[injecting.NumberedCluster], form: AcceptForm, seed: int
) -> list[dict[str, Any]]:
    """Each cluster with its examples in their sentences, and its form: the one that was sent, or an empty one."""
    looks = label_looks(access.project)
    shown = injecting.clusters_in_context(access, found, looks)
    return [
        {
            "one": one,
            "look": look_of(looks, one.cluster.label),
            "size": len(one.cluster.examples),
            "entries": [entry for number, _example, entry in shown if number == one.number],
            "form": form
            if form.is_bound and form["key"].value() == one.cluster.key
            else AcceptForm(auto_id=f"accept-{one.number}-%s", initial={"key": one.cluster.key, "seed": seed}),
        }
        for one in found
    ]


def _in_context(
    access: Access, run: InjectedRun, author: Author | None, found: list[bench.BenchedError]
) -> list[dict[str, Any]]:
    """Each error in its sentence, with its labels, and what the author did with it."""
    looks = label_looks(access.project)
    reasons = bench.reasons_of(author, found) if author else {}
    sets = annotation_set_ids(author or run.author, {one.note for one in found})
    shown = []
    for one, entry in with_context(access, found, bench.row_of_error, "injections", looks):
        error = one.error
        shown.append(
            {
                "entry": entry,
                "set": sets.get(one.note),
                "was": look_of(looks, error.was) if error.was else None,
                "rule": bench.rule_name(error.rule) if error.rule else "",
                "outcome": one.outcome,
                "there": [
                    (look_of(looks, span.label), (span.start, span.end) != (error.start, error.end))
                    for span in (one.outcome.there if one.outcome else ())
                ],
                "reason": reasons.get((one.note, error.start, error.end, error.label), ""),
            }
        )
    return shown


def _author_of(request: Request, access: Access, run: InjectedRun) -> Author | None:
    if "author" not in request.GET:
        return None
    wanted = number(request.GET, "author")
    found = next((one for one in bench.refiners_of(run, authors_for(access)) if one.pk == wanted), None)
    if found is None:
        raise Http404("This author has no notes of the injected run.")
    return found
