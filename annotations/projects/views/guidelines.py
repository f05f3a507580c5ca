"""Pages of the annotation guidelines, which every member reads and managers edit."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.projects.forms.guidelines import GuidelinesForm
from annotations.projects.selectors.guidelines import guide_of
from annotations.projects.services.projects import set_guidelines


@require_safe
def guidelines(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug)
    return render(request, "projects/guidelines.html", {"access": access, "guide": guide_of(access.project)})


@require_safe
def guidelines_beside(request: Request, slug: str) -> HttpResponse:
    """Fragment with the guidelines, for the panel beside a note."""
    access = enter(request.user, slug)
    context = {"access": access, "guide": guide_of(access.project)}
    return render(request, "projects/guidelines_beside.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def guidelines_edit(request: Request, slug: str) -> HttpResponse:
    """Edit, preview or save the guidelines (`do`: preview or save).

    If somebody else saved in the meantime, nothing is saved and the page shows both versions.
    """
    access = enter(request.user, slug, Can.MANAGE)
    project = access.project
    now = {"text": project.guidelines, "seen_version": project.guidelines_version}
    form = GuidelinesForm(request.POST if request.method == "POST" else None, initial=now)
    context: dict[str, Any] = {"access": access, "form": form}
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["text"]
        if request.POST.get("do") == "preview":
            context["preview"] = text
        else:
            try:
                seen = form.cleaned_data["seen_version"]
                fresh = set_guidelines(project=project, text=text, actor=request.user, seen_version=seen)
                messages.success(request, _("Saved as version %(n)d.") % {"n": fresh.guidelines_version})
                return redirect("guidelines", slug)
            except ServiceError as error:
                project.refresh_from_db()
                if project.guidelines == text:
                    # The same text is already saved, as after a double click.
                    return redirect("guidelines", slug)
                add_error(form, error)
                context |= {"stale": error.code == "stale", "theirs": project.guidelines}
    # The version that saving replaces. After a conflict, that is the version shown next to the text.
    fresh_view = not form.is_bound or context.get("stale")
    context["seen"] = project.guidelines_version if fresh_view else form["seen_version"].value()
    # htmx shows only answers with status 200, and the preview shows its own errors.
    return render(
        request, "projects/guidelines_edit.html", context, status=422 if form.errors and not request.htmx else 200
    )
