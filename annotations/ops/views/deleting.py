"""Pages that delete an archived project, or one note."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotations.core.access import Can, enter, note_for
from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_DELETED
from annotations.core.forms import add_error
from annotations.core.requests import Request
from annotations.models import Project
from annotations.ops.forms.erasing import DeleteProjectForm
from annotations.ops.selectors.kept_weights import seen_weights
from annotations.ops.services.backup_list import backups_of
from annotations.ops.services.deleting import delete_project, deletion_preview
from annotations.ops.services.erasing import delete_note, note_preview
from annotations.projects.selectors.live_jobs import live_jobs


@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: Request, slug: str) -> HttpResponse:
    """Say what is deleted with the project; delete it by POST if its name was typed."""
    access = enter(request.user, slug, Can.ARCHIVE)
    if not access.archived:
        messages.error(request, _("Only an archived project can be deleted. Archive it first."))
        return redirect("project_settings", slug)
    form = DeleteProjectForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            deleted = delete_project(project=access.project, name=form.cleaned_data["name"], actor=access.user)
            n = deleted["notes"]
            text = ngettext("A project with %(n)d note was deleted.", "A project with %(n)d notes was deleted.", n)
            messages.success(request, text % {"n": n})
            return redirect("projects")
        except ServiceError as error:
            add_error(form, error, {"name": "name"})
    context = {
        "access": access,
        "form": form,
        "preview": deletion_preview(access.project),
        "jobs": live_jobs(access.project),
        "backups": _backups(access.project),
        "weights": seen_weights(access.project, access.user),
    }
    return render(request, "ops/project_delete.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def note_delete(request: Request, slug: str, pk: int) -> HttpResponse:
    """Say what is deleted with the note; delete it by POST."""
    access = enter(request.user, slug, Can.MANAGE)
    if request.method == "POST" and NOTE_DELETED.happened(access.project.pk, document_id=pk):
        return redirect("notes", slug)
    document = note_for(access, pk)
    context: dict[str, object] = {"access": access, "note": document}
    if request.method == "POST":
        try:
            delete_note(project=access.project, note=pk, actor=access.user)
            messages.success(request, _("The note was deleted, with everything made from it."))
            return redirect("notes", slug)
        except ServiceError as error:
            if error.code == "none":
                return redirect("notes", slug)
            context["refused"] = str(error)
    context |= {"preview": note_preview(project=access.project, note=pk), "backups": _backups(access.project)}
    context["weights"] = seen_weights(access.project, access.user)
    return render(request, "ops/note_delete.html", context, status=409 if "refused" in context else 200)


def _backups(project: Project) -> list[dict[str, object]]:
    return [backup | {"created": datetime.fromisoformat(backup["created"])} for backup in backups_of(project)]
