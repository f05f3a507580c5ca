"""The page of a new project: its name, its notes, and its labels."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.core.access import may_create_projects
from annotations.core.forms import add_error
from annotations.core.requests import Request, takes_uploads, wants_json
from annotations.core.services import ServiceError
from annotations.exchange.forms.imports import UploadForm
from annotations.exchange.services import staged
from annotations.exchange.views.imports import all_errors, limits
from annotations.formats.notes import NoteError
from annotations.models import Import, Project
from annotations.projects.forms.settings import ProjectForm
from annotations.projects.services import projects as project_services
from annotations.text.labels import EMPTY_LABEL_SET

DEFAULT_LABEL_SET = "i2b2-2014"
# A second click on "Create" within this time counts as a double click.
DOUBLE_CLICK = timedelta(minutes=1)


@takes_uploads(None)
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: Request) -> HttpResponse:
    """Create a project from the form and its files. The next page previews the import, or lists the members."""
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")
    shipped = project_services.shipped_label_sets()
    offered = shipped | {"own": replace(EMPTY_LABEL_SET, key="own"), EMPTY_LABEL_SET.key: EMPTY_LABEL_SET}
    form = ProjectForm(request.POST or None, label_sets=offered, initial={"label_set": DEFAULT_LABEL_SET})
    upload = UploadForm(request.POST, request.FILES) if request.FILES else UploadForm()
    upload.fields["files"].required = False
    valid = request.method == "POST" and form.is_valid()
    if valid and (not upload.is_bound or upload.is_valid()):
        url = _create(request, form, upload)
        if url:
            return JsonResponse({"location": url}) if wants_json(request) else redirect(url)
    if request.method == "POST" and wants_json(request):
        return JsonResponse({"error": "refused", "messages": all_errors(form) + all_errors(upload)}, status=422)
    context = {"form": form, "upload": upload, "label_sets": shipped.values(), "chosen": form["label_set"].value()}
    return render(request, "exchange/project_new.html", context | limits())


def _create(request: Request, form: ProjectForm, upload: UploadForm) -> str:
    """Create the project and stage its notes: both or neither. Return the URL of the next page.

    If it is refused, the error is added to a form, and the URL is empty.
    """
    wanted = form.cleaned_data
    row: Import | None = None
    try:
        with transaction.atomic():
            made = project_services.create_project(
                name=wanted["name"],
                label_set_key=wanted["label_set"],
                own_labels=wanted["own_labels"],
                language=wanted["language"],
                # Notes are assigned when the pilot begins, or by the manager's choice.
                distribution=Project.Distribution.LIST,
                manager=request.user,
                actor=request.user,
            )
            if upload.is_bound:
                row = staged.stage_upload(project=made, form=upload, actor=request.user)
    except (ServiceError, NoteError) as error:
        code = error.code if isinstance(error, ServiceError) else ""
        if code == "exists" and (twin := _just_made(request, wanted)):
            return reverse("project", args=[twin.slug])
        if code in ("exists", "slug", "name", "label-set", "own_labels"):
            add_error(
                form, ServiceError(str(error), code=code), {"exists": "name", "slug": "name", "label-set": "label_set"}
            )
        else:
            upload.add_error("files", str(error))
        return ""
    if row is not None and staged.needs_no_choice(row):
        staged.start_import(project=made, import_id=row.pk, actor=request.user)
        messages.success(request, _("The project was created, and its notes are being imported."))
    elif row is not None:
        return reverse("import_preview", args=[made.slug, row.pk])
    else:
        messages.success(request, _("The project was created. You are its manager."))
        return reverse("project", args=[made.slug])
    return reverse("people", args=[made.slug])


def _just_made(request: Request, wanted: dict[str, Any]) -> Project | None:
    """The project that the first click of a double click has just created."""
    since = timezone.now() - DOUBLE_CLICK
    return Project.objects.filter(
        created_by=request.user,
        name=wanted["name"].strip(),
        label_set__key=wanted["label_set"],
        created_at__gte=since,
        memberships__user=request.user,
    ).first()
