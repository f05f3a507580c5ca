"""Choosing an export, and the files that are ready. The job that writes one is started by URL."""

import uuid

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter
from annotations.core.barred import RUNS_BARRED, barred_kinds
from annotations.core.requests import Request
from annotations.domain.formats import FORMATS
from annotations.models import Author
from annotations.transfer.forms.exports import ExportForm, set_choices
from annotations.transfer.selectors.exports import ready_files


def about_formats() -> dict[str, tuple[str, str]]:
    """Title and plain words of each format; one that has no words here goes by its name."""
    words = {
        "brat": (
            "brat",
            _("A .txt and an .ann per note, with annotation.conf and visual.conf. Holds every span, overlapping too."),
        ),
        "conll": (
            "CoNLL",
            _("A token per line with its offsets and BIO tag, the text beside it. Of overlapping spans it holds one."),
        ),
        "text": (_("Plain text"), _("The notes alone. It holds no spans.")),
    }
    return {name: words.get(name, (name, "")) for name in FORMATS}


@require_safe
def export(request: Request, slug: str) -> HttpResponse:
    """The form; ?set= and ?format= choose beforehand."""
    access = enter(request.user, slug, Can.EXPORT)
    barred = barred_kinds(access)
    sets = set_choices(access.project, without=barred)
    specs = [choice.spec for choice in sets]
    wanted = {"set": request.GET.get("set", ""), "format": request.GET.get("format", "")}
    initial = {
        "set": wanted["set"] if wanted["set"] in specs else next(iter(specs), ""),
        "format": wanted["format"] if wanted["format"] in FORMATS else next(iter(FORMATS)),
        "token": uuid.uuid4(),
    }
    context = {
        "access": access,
        "form": ExportForm(initial=initial, sets=sets, formats=list(FORMATS)),
        "formats": [(name, *words) for name, words in about_formats().items()],
        "chosen": initial["format"],
        "sets": sets,
        "has_split": any(choice.is_split for choice in sets),
        "files": ready_files(access.project, without=barred),
        "runs_barred": RUNS_BARRED if Author.Kind.RUN in barred else "",
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "transfer/export.html", context)
