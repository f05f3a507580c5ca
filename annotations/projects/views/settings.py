"""Settings of a project, and who reads which note."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import refuse, sentence
from annotations.core.requests import Request
from annotations.models import Document, Project
from annotations.projects.forms.settings import AssignForm, SettingsForm
from annotations.projects.selectors.second_reviews import waiting_in
from annotations.projects.selectors.seeds import runs_with_notes
from annotations.projects.services.assigning import annotators, assign_list
from annotations.projects.services.filling import fill_up
from annotations.projects.services.projects import update_project

FIELDS = (
    "name",
    "language",
    "distribution",
    "readers_per_note",
    "seed_from",
    "unanimous_passes",
    "anonymous_adjudication",
    "show_outcome",
    "second_review",
    "planted_share",
)


@require_http_methods(["GET", "HEAD", "POST"])
def project_settings(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, initial=_now(access.project), runs=runs_with_notes(access.project))
    if request.method == "POST" and form.is_valid():
        try:
            update_project(project=access.project, actor=access.user, **form.cleaned_data)
            messages.success(request, _("The settings are saved."))
            return redirect("project_settings", slug)
        except ServiceError as error:
            refuse(form, error)
    return _page(request, access, form)


def _now(project: Project) -> dict[str, object]:
    return {field: getattr(project, field) for field in FIELDS}


def _page(
    request: Request, access: Access, form: SettingsForm | None = None, assigning: AssignForm | None = None
) -> HttpResponse:
    project = Project.objects.get(pk=access.project.pk)
    readers = annotators(project)
    context = {
        "access": access,
        "form": form or SettingsForm(initial=_now(project), runs=runs_with_notes(project)),
        "assigning": assigning or AssignForm(readers=readers),
        "by_list": project.distribution == Project.Distribution.LIST,
        "readers": readers,
        "too_few": project.distribution == Project.Distribution.SOME and len(readers) < project.readers_per_note,
        "waiting": waiting_in(project),
        "notes": Document.objects.filter(project=project).count(),
    }
    failed = (form and form.errors) or (assigning and assigning.errors)
    return render(request, "projects/settings.html", context, status=422 if failed else 200)


@require_POST
def assign_notes(request: Request, slug: str) -> HttpResponse:
    """Give one annotator the notes of these names; refused whole where a name is unknown."""
    access = enter(request.user, slug, Can.MANAGE)
    form = AssignForm(request.POST, readers=annotators(access.project))
    if form.is_valid():
        reader, names = form.cleaned_data["reader"], form.cleaned_data["names"]
        try:
            assign_list(project=access.project, user=reader, names=names, actor=access.user)
            words = ngettext(
                "%(name)s has %(count)d note to read from this list.",
                "%(name)s has the %(count)d notes of this list to read.",
                len(names),
            )
            messages.success(request, words % {"name": reader.username, "count": len(names)})
            return redirect("project_settings", slug)
        except ServiceError as error:
            refuse(form, error, {"note": "names", "member": "reader"})
    return _page(request, access, assigning=form)


@require_POST
def fill_notes(request: Request, slug: str) -> HttpResponse:
    """Give the notes that are here already the readers that the rule asks for."""
    access = enter(request.user, slug, Can.MANAGE)
    try:
        made = fill_up(project=access.project, actor=access.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("project_settings", slug)
    words = ngettext(
        "%(count)d note more to read was handed out.", "%(count)d notes more to read were handed out.", made
    )
    messages.success(request, words % {"count": made} if made else _("Every note has its readers already."))
    return redirect("project_settings", slug)
