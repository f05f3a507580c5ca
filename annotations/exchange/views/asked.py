"""What the export form asks for, and the answer if the export can't be had."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotations.core.access import Access, closed_to
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.exchange.selectors.label_mappings import mapping_by_id, seen_of
from annotations.exchange.services.export_labels import ExportLabels, labels_of_mapping
from annotations.exchange.services.starting import unknown_set
from annotations.exchange.services.writing import Writing
from annotations.models import LabelMapping


@dataclass(frozen=True)
class AskedExport:
    """The choices of the export form."""

    set_spec: str
    format: str
    split: str
    writing: Writing
    labels: ExportLabels
    mapping: LabelMapping | None


def asked_export(request: Request, access: Access) -> AskedExport:
    """Read POST `set`, `format`, `split`, `labels` (a mapping), `seen` (of it) and the fields of `Writing`.

    Raises PermissionDenied for annotation sets that are closed to the person; ServiceError for a format or mapping
    that doesn't exist, and `changed` for a mapping that was changed since the person saw it.
    """
    spec, chosen = request.POST.get("set", ""), request.POST.get("labels", "")
    if closed_to(access, spec=spec):
        raise PermissionDenied("You may not export these annotation sets.")
    mapping = mapping_by_id(access.project, chosen) if chosen else None
    seen = request.POST.get("seen", "")
    if mapping and seen and seen != seen_of(mapping):
        raise ServiceError(
            _("Somebody changed the label mapping or the labels since the preview. Check the preview again."),
            code="changed",
        )
    format = request.POST.get("format", "")
    writing = Writing(
        sentences="sentences" in request.POST,
        spaced="spaced" in request.POST,
        tokenizer=request.POST.get("tokenizer", ""),
        layer=request.POST.get("layer", ""),
    )
    writing.check(format)
    labels = labels_of_mapping(mapping) if mapping else ExportLabels()
    return AskedExport(spec, format, request.POST.get("split", ""), writing, labels, mapping)


def refuse_export(request: Request, slug: str, error: ServiceError) -> HttpResponse:
    """Go to the page where the error can be corrected: that of a label mapping, or the export form."""
    messages.error(request, str(unknown_set() if error.code == "set" else error))
    if error.code == "unmapped":
        return redirect("label_mapping", slug, int(request.POST["labels"]))
    return redirect("export", slug)
