"""Page of exports: the form, and the files that are ready. `views.starting` starts the job."""

import uuid

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.exchange.forms.exports import ExportForm, set_choices
from annotations.exchange.forms.formats import ABOUT
from annotations.exchange.selectors.exports import ready_files
from annotations.exchange.selectors.imports import layers_of
from annotations.exchange.selectors.label_mappings import mappings_of, seen_of, spans_by_label
from annotations.exchange.services.export_labels import written_lines
from annotations.exchange.views.asked import asked_export, refuse_export
from annotations.formats import FORMATS
from annotations.gold.services.sets import wanted_set


@require_safe
def export(request: Request, slug: str) -> HttpResponse:
    """The export form; ?set=, ?format= and ?labels= (the id of a label mapping) preselect."""
    access = enter(request.user, slug, Can.EXPORT)
    sets = set_choices(access.project, without=access.closed_kinds)
    specs = [choice.spec for choice in sets]
    wanted = {"set": request.GET.get("set", ""), "format": request.GET.get("format", "")}
    mappings = mappings_of(access.project)
    chosen = request.GET.get("labels", "")
    initial = {
        "labels": chosen if chosen in [str(one.pk) for one in mappings] else "",
        "set": wanted["set"] if wanted["set"] in specs else next(iter(specs), ""),
        "format": wanted["format"] if wanted["format"] in FORMATS else next(iter(FORMATS)),
        "token": uuid.uuid4(),
    }
    context = {
        "access": access,
        "form": ExportForm(initial=initial, sets=sets, mappings=mappings, layers=layers_of(access.project)),
        "formats": ABOUT.values(),
        "sets": sets,
        "has_split": any(choice.is_split for choice in sets),
        "files": ready_files(access.project, without=access.closed_kinds),
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "exchange/export.html", context)


@require_POST
def export_preview(request: Request, slug: str) -> HttpResponse:
    """The number of spans by written label, before an export starts. POST the export form."""
    access = enter(request.user, slug, Can.EXPORT)
    try:
        asked = asked_export(request, access)
        wanted = wanted_set(access.project, asked.set_spec, asked.split)
        lines = written_lines(access.project, spans_by_label(wanted), asked.labels)
    except ServiceError as error:
        return refuse_export(request, slug, error)
    names = {choice.spec: choice.name for choice in set_choices(access.project, without=access.closed_kinds)}
    context = {
        "access": access,
        "asked": asked,
        "set_name": names.get(asked.set_spec, asked.set_spec),
        "format": ABOUT[asked.format].title,
        "lines": lines,
        "merging": any(line.code and len(line.labels) > 1 for line in lines),
        "total": sum(line.spans for line in lines if line.code),
        "sent": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in ("csrfmiddlewaretoken", "seen")
        ],
        "seen": seen_of(asked.mapping) if asked.mapping else "",
    }
    return render(request, "exchange/export_preview.html", context)
