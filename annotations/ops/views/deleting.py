"""Pages that delete an archived project, or one note."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter, note_for
from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_DELETED
from annotations.core.forms import attempted, error_beside
from annotations.core.requests import Request, takes_uploads
from annotations.models import Document
from annotations.ops.forms import DeleteProjectForm, EraseForm, PatientForm, PatientsFileForm
from annotations.ops.selectors.free_texts import free_texts, seen_weights
from annotations.ops.services.backup import backups_before_erasing, backups_of
from annotations.ops.services.deleting import delete_project, deletion_preview
from annotations.ops.services.erasing import delete_note, erase_patient, erasure_preview, note_preview, set_rows
from annotations.projects.selectors.projects import live_jobs


@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: Request, slug: str) -> HttpResponse:
    """Say what is deleted with the project; delete it by POST if its name was typed."""
    access = enter(request.user, slug, Can.ARCHIVE)
    if not access.archived:
        messages.error(request, _("Only an archived project can be deleted. Archive it first."))
        return redirect("project_settings", slug)
    form = DeleteProjectForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with error_beside(form):
            n = delete_project(project=access.project, name=form.cleaned_data["name"], actor=access.user)["notes"]
            text = ngettext("A project with %(n)d note was deleted.", "A project with %(n)d notes was deleted.", n)
            messages.success(request, text % {"n": n})
            return redirect("projects")
    context = {
        "access": access,
        "form": form,
        "preview": deletion_preview(access.project),
        "jobs": live_jobs(access.project),
        "backups": backups_of(access.project),
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
    context |= {"preview": note_preview(project=access.project, note=pk), "backups": backups_of(access.project)}
    context["weights"] = seen_weights(access.project, access.user)
    return render(request, "ops/note_delete.html", context, status=409 if "refused" in context else 200)


# The page “Patients”: set patient ids, and erase one patient's notes.


SHOWN = 50


@takes_uploads(Can.MANAGE)
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def patients(request: Request, slug: str) -> HttpResponse:
    """Show both forms. A POST names its action in `do`: preview, erase or ids. No address contains a patient id."""
    access = enter(request.user, slug, Can.MANAGE)
    context: dict[str, Any] = {"access": access, "form": PatientForm(), "file_form": PatientsFileForm()}
    if request.method == "POST":
        acts = {"preview": _preview, "erase": _erase, "ids": _set_ids}
        context |= acts.get(request.POST.get("do", ""), _preview)(request, access)
    notes = Document.objects.filter(project=access.project)
    context["notes"] = notes.count()
    context["with_id"] = notes.exclude(patient_id="").count()
    context["backups"] = backups_before_erasing(access.project)
    if "preview" in context or "erased" in context:
        context["texts"] = free_texts(access.project)
        context["weights"] = seen_weights(access.project, access.user)
    failed = any(form.errors for form in context.values() if hasattr(form, "errors"))
    status = 422 if failed else 200
    return render(request, "ops/patients.html", context, status=409 if context.get("refused") else status)


def _preview(request: Request, access: Access) -> dict[str, Any]:
    """Count what an erasure would delete, and ask for the id again."""
    form = PatientForm(request.POST)
    act = partial(erasure_preview, project=access.project)
    counts = attempted(form, lambda: act(**form.cleaned_data), {"none": "patient_id"})
    if counts is None:
        return {"form": form}
    return {"form": form, "preview": counts, "erase_form": EraseForm(initial=form.cleaned_data)}


def _erase(request: Request, access: Access) -> dict[str, Any]:
    form, refused = EraseForm(request.POST), ""
    if form.is_valid():
        patient = form.cleaned_data["patient_id"]
        try:
            return {"erased": erase_patient(project=access.project, patient_id=patient, actor=access.user)}
        except ServiceError as error:
            if error.code == "none":
                return {"gone": True}
            refused = str(error)
    try:
        counts = erasure_preview(project=access.project, patient_id=request.POST.get("patient_id", ""))
    except ServiceError:
        return {"gone": True}
    return {"preview": counts, "erase_form": form, "refused": refused}


def _set_ids(request: Request, access: Access) -> dict[str, Any]:
    form = PatientsFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return {"file_form": form}
    done = set_rows(project=access.project, rows=form.cleaned_data["file"], actor=access.user)
    return {
        "done": done.patients | {"unknown": done.unknown},
        "metadata": done.metadata,
        "unknown_shown": done.unknown[:SHOWN],
        "unknown_more": len(done.unknown[SHOWN:]),
    }
