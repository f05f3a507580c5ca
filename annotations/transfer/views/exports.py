"""Page of exports: the form, and the files that are ready. `views.starting` starts the job."""

import uuid

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter
from annotations.core.requests import Request
from annotations.domain.formats import FORMATS
from annotations.transfer.forms.exports import ExportForm, set_choices
from annotations.transfer.forms.formats import ABOUT
from annotations.transfer.selectors.exports import ready_files


@require_safe
def export(request: Request, slug: str) -> HttpResponse:
    """The export form; ?set= and ?format= preselect."""
    access = enter(request.user, slug, Can.EXPORT)
    sets = set_choices(access.project, without=access.closed_kinds)
    specs = [choice.spec for choice in sets]
    wanted = {"set": request.GET.get("set", ""), "format": request.GET.get("format", "")}
    initial = {
        "set": wanted["set"] if wanted["set"] in specs else next(iter(specs), ""),
        "format": wanted["format"] if wanted["format"] in FORMATS else next(iter(FORMATS)),
        "token": uuid.uuid4(),
    }
    context = {
        "access": access,
        "form": ExportForm(initial=initial, sets=sets),
        "formats": ABOUT.values(),
        "sets": sets,
        "has_split": any(choice.is_split for choice in sets),
        "files": ready_files(access.project, without=access.closed_kinds),
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "transfer/export.html", context)
