"""The page “Patients”: set patient ids, and erase one patient's notes."""

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, takes_uploads
from annotations.models import Document
from annotations.ops.forms.erasing import EraseForm, PatientForm, PatientsFileForm
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.selectors.kept_weights import seen_weights
from annotations.ops.services.backup_list import backups_before_erasing
from annotations.ops.services.erasing import erase_patient, erasure_preview
from annotations.ops.services.patients import set_rows

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
    context["backups"] = [
        backup | {"created": datetime.fromisoformat(backup["created"])}
        for backup in backups_before_erasing(access.project)
    ]
    if "preview" in context or "erased" in context:
        context["texts"] = free_texts(access.project)
        context["weights"] = seen_weights(access.project, access.user)
    failed = any(form.errors for form in context.values() if hasattr(form, "errors"))
    return render(request, "ops/patients.html", context, status=_status(context, failed=failed))


def _status(context: dict[str, Any], *, failed: bool) -> int:
    if context.get("refused"):
        return 409
    return 422 if failed else 200


def _preview(request: Request, access: Access) -> dict[str, Any]:
    """Count what an erasure would delete, and ask for the id again."""
    form = PatientForm(request.POST)
    if not form.is_valid():
        return {"form": form}
    patient = form.cleaned_data["patient_id"]
    try:
        counts = erasure_preview(project=access.project, patient_id=patient)
    except ServiceError as error:
        add_error(form, error, {"none": "patient_id"})
        return {"form": form}
    return {"form": form, "preview": counts, "erase_form": EraseForm(initial={"patient_id": patient})}


def _erase(request: Request, access: Access) -> dict[str, Any]:
    form, refused = EraseForm(request.POST), ""
    if form.is_valid():
        try:
            return {
                "erased": erase_patient(
                    project=access.project, patient_id=form.cleaned_data["patient_id"], actor=access.user
                )
            }
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
