"""Amendments to the guidelines, each with its date. They separate the rounds of a project."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.agreement.forms import AmendmentForm
from annotations.agreement.selectors.disagreements import rounds
from annotations.agreement.services.disagreements import amend, amended, next_number
from annotations.core.access import Access, Can, note_for
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import FORM, Request, in_project, number, paged, posted
from annotations.models import Amendment, Document

ROWS = 30


@in_project(Can.SEE_PROJECT)
def amendments(request: Request, access: Access) -> HttpResponse:
    """List the amendments, newest first, with the locations that led to them for people who may read all notes."""
    rows = Amendment.objects.filter(project=access.project).select_related("by", "document").defer("document__text")
    page = paged(request, rows.order_by("-number"), ROWS)
    context = {"page": page, "rounds": rounds(access.project)}
    return render(request, "agreement/amendments.html", context)


@in_project(Can.MANAGE, *FORM)
def amend_guidelines(request: Request, access: Access) -> HttpResponse:
    """Write an amendment (`do`: preview or save), with or without a location in the query."""
    project = access.project
    location = _location(request, access)
    initial = {"seen_version": project.guidelines_version}
    form = AmendmentForm(posted(request), initial=initial)
    context: dict[str, Any] = {"form": form, "location": location, "number": next_number(project)}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if request.POST.get("do") == "preview":
            context["preview"] = amended("", context["number"], text, timezone.now())
        else:
            try:
                seen = form.cleaned_data["seen_version"]
                made = amend(project=project, text=text, actor=access.user, location=location, seen_version=seen)
                values = {"n": made.number, "version": made.guidelines_version}
                message = _("Amendment %(n)d was added in version %(version)d of the guidelines.")
                messages.success(request, message % values)
                return redirect("amendments", access.slug)
            except ServiceError as error:
                add_error(form, error)
                project.refresh_from_db()
                context["stale"] = error.code == "stale"
    fresh = not form.is_bound or context.get("stale")
    context["seen"] = project.guidelines_version if fresh else form["seen_version"].value()
    # htmx ignores fragments with an error status; the fragment itself shows the error.
    return render(request, "agreement/amend.html", context, status=422 if form.errors and not request.htmx else 200)


def _location(request: Request, access: Access) -> tuple[Document, int, int] | None:
    """The location in the query, if it lies in a note of this project."""
    pk, start, end = (number(request.GET, name) for name in ("note", "start", "end"))
    if pk is None:
        return None
    note = note_for(access, pk)
    if start is None or end is None or not start < end <= note.length:
        return None
    return note, start, end
