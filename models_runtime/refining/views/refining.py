"""The page of refinements: the list, the form that starts one, and the effort of any two."""

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, number, paged
from annotations.gold.selectors import versions
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key, form_token
from annotations.models import Author
from models_runtime.models import Refinement
from models_runtime.refining.forms.refining import REFUSED_AT, CompareForm, RefineForm
from models_runtime.refining.services.efforts import Effort, efforts_of
from models_runtime.refining.services.starting import sources_of, start_refinement
from models_runtime.runs.services.llm import leaving, servers

ROWS = 30


@require_http_methods(["GET", "HEAD", "POST"])
def refinements(request: Request, slug: str) -> HttpResponse:
    """List the refinements with the effort of two (?first=&second=), or start one; ?run= chooses its annotations.

    After an error, the form keeps its values.
    """
    access = enter(request.user, slug, Can.MANAGE)
    sent = request.method == "POST"
    sources = list(sources_of(access.project))
    frozen = [version for version in versions(access.project) if version.span_count]
    form = RefineForm(
        request.POST if sent else None,
        auto_id="refine-%s",
        initial={"run": number(request.GET, "run")},
        sources=sources,
        versions=frozen,
        servers=servers(),
    )
    if sent and form.is_valid():
        try:
            row = _start(request, access, form, sources)
            return redirect("job", slug, row.job.number) if row.job else redirect("refinements", slug)
        except ServiceError as error:
            add_error(form, error, REFUSED_AT)
    rows = Refinement.objects.filter(project=access.project).select_related(
        "author", "source__injected_run", "job", "created_by"
    )
    page = paged(request, rows, ROWS)
    efforts = efforts_of(list(page))
    compared = _compared(request, list(rows)) if page.paginator.count > 1 else None
    context = {
        "access": access,
        "form": form,
        "sources": sources,
        "servers": servers(),
        "leaving": leaving(),
        "page": page,
        "rows": [(row, efforts[row.pk], status_of(row.job, access) if row.job else None) for row in page],
        "compared": compared,
        "token": form_token(request) or uuid.uuid4(),
    }
    return render(request, "refining/refinements.html", context, status=422 if sent else 200)


def _start(request: Request, access: Access, form: RefineForm, sources: list[Author]) -> Refinement:
    cleaned = form.cleaned_data
    source = next((one for one in sources if one.pk == cleaned["run"]), None)
    if source is None:
        raise ServiceError(_("Choose a run from the list."), code="run")
    gold = None
    if cleaned["gold"] is not None:
        gold = access.project.gold_versions.filter(number=cleaned["gold"]).first()
        if gold is None:
            raise ServiceError(_("Choose a gold version from the list."), code="gold")
    return start_refinement(
        project=access.project,
        source=source.name,
        method=cleaned["method"],
        actor=access.user,
        name=cleaned["name"],
        gold=gold,
        key=form_key(request, access),
        asked=form.asked,
    )


def _compared(request: Request, rows: list[Refinement]) -> dict[str, object]:
    """The form that chooses two refinements, and their efforts; by default of the newest two."""
    by_id = {row.pk: row for row in rows}
    wanted = [number(request.GET, name) for name in ("first", "second")]
    chosen = [by_id[one] if one in by_id else rows[at] for at, one in zip((1, 0), wanted, strict=True)]
    efforts = efforts_of(chosen)
    pair: list[tuple[Refinement, Effort]] = [(row, efforts[row.pk]) for row in chosen]
    form = CompareForm(auto_id="compare-%s", initial={"first": chosen[0].pk, "second": chosen[1].pk}, rows=rows)
    return {"form": form, "pair": pair}
