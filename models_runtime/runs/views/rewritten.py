"""Rewritten notes of a run: labels for unknown placeholders, and the download."""

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Can, enter
from annotations.core.answers import streamed
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.projects.selectors.labels import labels_of
from models_runtime.runs.forms.placeholders import PlaceholderForm
from models_runtime.runs.services.placeholders import map_placeholders, placeholder_choices, unmapped_placeholders
from models_runtime.runs.services.rewritten_notes import export_rewritten, rewriting_for


@require_http_methods(["GET", "HEAD", "POST"])
def run_placeholders(request: Request, slug: str, pk: int) -> HttpResponse:
    """Choose labels for the placeholders of a run that are no label's. Their spans then become suggestions."""
    access = enter(request.user, slug, Can.MANAGE)
    run = rewriting_for(access.project, pk)
    counts = unmapped_placeholders(run)
    form = PlaceholderForm(
        request.POST if request.method == "POST" else None,
        choices=placeholder_choices(run, counts),
        labels=labels_of(access.project),
        auto_id="choose-%s",
    )
    if form.is_bound and form.is_valid():
        try:
            made = map_placeholders(run=run, labels=form.decided, actor=access.user)
        except ServiceError as error:
            form.add_error(None, str(error))
        else:
            said = ngettext("%(count)s suggestion was added.", "%(count)s suggestions were added.", made)
            messages.success(request, said % {"count": made} if form.decided else _("Nothing was changed."))
            return redirect("run", slug, run.pk)
    context = {
        "access": access,
        "run": run,
        "form": form,
        "rows": [(field, counts[str(field.label)]) for field in form.rows()],
    }
    return render(request, "runs/placeholders.html", context, status=422 if form.is_bound else 200)


@require_safe
def run_rewritten(request: Request, slug: str, pk: int) -> StreamingHttpResponse:
    """Download the rewritten notes as JSON Lines. `?prompt=yes` adds the prompt to each line."""
    access = enter(request.user, slug, Can.EXPORT)
    run = rewriting_for(access.project, pk)
    lines, name = export_rewritten(run=run, prompt=request.GET.get("prompt") == "yes", actor=access.user)
    return streamed(lines, "application/jsonl", name)
