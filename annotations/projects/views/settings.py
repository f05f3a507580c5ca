"""Page of a project's settings and assignments."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Access, Can, enter, require
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.models import Document, Project
from annotations.projects.forms.settings import AssignForm, SettingsForm
from annotations.projects.selectors.live_jobs import live_jobs
from annotations.projects.selectors.second_reviews import waiting_in
from annotations.projects.selectors.seeds import runs_with_notes
from annotations.projects.services.assigning import annotators_of, assign_list
from annotations.projects.services.filling import fill_up
from annotations.projects.services.projects import update_project

FIELDS = (
    "name",
    "language",
    "distribution",
    "annotators_per_note",
    "notes_per_annotator",
    "idle_days",
    "seed_from",
    "unanimous_passes",
    "anonymous_adjudication",
    "show_outcome",
    "second_review",
    "planted_share",
    "second_factor",
    "mcp_clients",
)


@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.ARCHIVE)
    if request.method == "POST":
        require(access, Can.MANAGE)
    elif access.archived:
        return render(request, "projects/settings_archived.html", {"access": access, "jobs": live_jobs(access.project)})
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, initial=_now(access.project), runs=runs_with_notes(access.project))
    if request.method == "POST" and form.is_valid():
        try:
            update_project(project=access.project, actor=access.user, **form.cleaned_data)
            messages.success(request, _("The settings were saved."))
            return redirect("project_settings", slug)
        except ServiceError as error:
            add_error(form, error)
    return _page(request, access, form)


def _now(project: Project) -> dict[str, object]:
    return {field: getattr(project, field) for field in FIELDS}


def _page(
    request: Request, access: Access, form: SettingsForm | None = None, assigning: AssignForm | None = None
) -> HttpResponse:
    project = Project.objects.get(pk=access.project.pk)
    annotators = annotators_of(project)
    context = {
        "access": access,
        "form": form or SettingsForm(initial=_now(project), runs=runs_with_notes(project)),
        "assigning": assigning or AssignForm(annotators=annotators),
        "by_list": project.distribution == Project.Distribution.LIST,
        "annotators": annotators,
        "too_few": project.distribution == Project.Distribution.SOME and len(annotators) < project.annotators_per_note,
        "waiting": waiting_in(project),
        "notes": Document.objects.filter(project=project).count(),
        "jobs": live_jobs(project),
    }
    failed = (form and form.errors) or (assigning and assigning.errors)
    return render(request, "projects/settings.html", context, status=422 if failed else 200)


@require_POST
def assign_notes(request: Request, slug: str) -> HttpResponse:
    """Assign notes to one annotator by name. Assigns nothing if a name is unknown."""
    access = enter(request.user, slug, Can.MANAGE)
    form = AssignForm(request.POST, annotators=annotators_of(access.project))
    if form.is_valid():
        annotator, names = form.cleaned_data["annotator"], form.cleaned_data["names"]
        try:
            assign_list(project=access.project, user=annotator, names=names, actor=access.user)
            message = ngettext(
                "%(count)d note from the list is assigned to %(name)s.",
                "%(count)d notes from the list are assigned to %(name)s.",
                len(names),
            )
            messages.success(request, message % {"name": annotator.username, "count": len(names)})
            return redirect("project_settings", slug)
        except ServiceError as error:
            add_error(form, error, {"note": "names", "member": "annotator"})
    return _page(request, access, assigning=form)


@require_POST
def fill_notes(request: Request, slug: str) -> HttpResponse:
    """Add missing assignments of existing notes by the project's rule."""
    access = enter(request.user, slug, Can.MANAGE)
    try:
        made = fill_up(project=access.project, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("project_settings", slug)
    message = ngettext("%(count)d assignment was made.", "%(count)d assignments were made.", made)
    messages.success(request, message % {"count": made} if made else _("All notes already have enough annotators."))
    return redirect("project_settings", slug)
