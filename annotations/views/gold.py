"""The gold set, what it can be made of, and its frozen versions."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.access import Can, enter
from annotations.forms.gold import FreezeForm
from annotations.forms.refusals import sentence
from annotations.models import GoldVersion
from annotations.selectors.gold import gold_state, version_page, versions
from annotations.selectors.projects import is_large
from annotations.services.errors import ServiceError
from annotations.services.gold import freeze
from annotations.views.requests import Request, number


@require_safe
def gold(request: Request, slug: str) -> HttpResponse:
    """The counts of a large project come as a fragment after the page."""
    access = enter(request.user, slug, Can.READ_NOTES)
    frozen = versions(access.project)
    late = not request.htmx and is_large(access.project)
    context = {
        "access": access,
        "versions": frozen,
        "last": frozen[0] if frozen else None,
        "late": late,
        "state": None if late else gold_state(access.project, frozen[0] if frozen else None),
        "form": FreezeForm(),
        "token": uuid.uuid4(),
    }
    return render(request, "annotations/gold_counts.html" if request.htmx else "annotations/gold.html", context)


@require_POST
def gold_freeze(request: Request, slug: str) -> HttpResponse:
    """Freeze the gold set as it stands. Sent twice it is one version: nothing has changed in between."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    form = FreezeForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The reason is too long: 300 characters at most. Nothing was frozen."))
        return redirect("gold", slug)
    try:
        version, made = freeze(project=access.project, actor=access.user, reason=form.cleaned_data["reason"])
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("gold", slug)
    if made:
        messages.success(request, _("Version %(number)s is frozen.") % {"number": version.number})
    else:
        messages.info(
            request, _("Nothing has changed since version %(number)s; it stands.") % {"number": version.number}
        )
    return redirect("gold_version", slug, version.number)


@require_safe
def gold_version(request: Request, slug: str, version: int) -> HttpResponse:
    """One frozen version and its notes."""
    access = enter(request.user, slug, Can.READ_NOTES)
    found = get_object_or_404(GoldVersion.objects.select_related("created_by"), project=access.project, number=version)
    page = version_page(found, after=number(request.GET, "after"), before=number(request.GET, "before"))
    template = "annotations/gold_version_notes.html" if request.htmx else "annotations/gold_version.html"
    return render(request, template, {"access": access, "version": found, "page": page})
