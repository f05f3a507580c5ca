"""Rules that disagreements have added to the guidelines, each with its day: they part the rounds of a project."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.agreement.forms import AmendmentForm
from annotations.agreement.selectors.disagreements import rounds
from annotations.agreement.services.amending import amend, amended, next_number
from annotations.core.access import Access, Can, enter, note_for
from annotations.core.errors import ServiceError
from annotations.core.refusals import refuse
from annotations.core.requests import Request, number
from annotations.models import Amendment, Document


@require_safe
def amendments(request: Request, slug: str) -> HttpResponse:
    """The amendments, the newest first, with the places they came from for those who may read every note."""
    access = enter(request.user, slug)
    rows = Amendment.objects.filter(project=access.project).select_related("by", "document").defer("document__text")
    context = {"access": access, "amendments": rows.order_by("-number"), "rounds": rounds(access.project)}
    return render(request, "agreement/amendments.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def amend_guidelines(request: Request, slug: str) -> HttpResponse:
    """Write an amendment (`do`: preview or save), on its own or of the place in the query."""
    access = enter(request.user, slug, Can.MANAGE)
    project = access.project
    place = _place(request, access)
    initial = {"seen_version": project.guidelines_version}
    form = AmendmentForm(request.POST if request.method == "POST" else None, initial=initial)
    context: dict[str, Any] = {"access": access, "form": form, "place": place, "number": next_number(project)}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if request.POST.get("do") == "preview":
            context["preview"] = amended("", context["number"], text, timezone.localdate().isoformat())
        else:
            try:
                seen = form.cleaned_data["seen_version"]
                made = amend(project=project, text=text, actor=access.user, place=place, seen_version=seen)
                words = {"n": made.number, "version": made.guidelines_version}
                messages.success(request, _("Amendment %(n)d is in version %(version)d of the guidelines.") % words)
                return redirect("amendments", slug)
            except ServiceError as error:
                refuse(form, error)
                project.refresh_from_db()
                context["stale"] = error.code == "stale"
    fresh = not form.is_bound or context.get("stale")
    context["seen"] = project.guidelines_version if fresh else form["seen_version"].value()
    # The preview asked in place says itself what is wrong.
    return render(request, "agreement/amend.html", context, status=422 if form.errors and not request.htmx else 200)


def _place(request: Request, access: Access) -> tuple[Document, int, int] | None:
    """The place in the query, if it is one of a note of this project."""
    pk, start, end = (number(request.GET, name) for name in ("note", "start", "end"))
    if pk is None:
        return None
    note = note_for(access, pk)
    if start is None or end is None or not start < end <= note.length:
        return None
    return note, start, end
