"""Annotators take their released notes back."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotations.core.access import Can, enter
from annotations.core.requests import Request
from annotations.projects.services.idle import take_back


@require_POST
def take_back_notes(request: Request, slug: str) -> HttpResponse:
    """Assign released notes to the person again who had them, except those that went to others."""
    access = enter(request.user, slug, Can.ANNOTATE)
    taken = take_back(project=access.project, user=access.user)
    message = ngettext("%(count)d note is assigned to you again.", "%(count)d notes are assigned to you again.", taken)
    messages.success(request, message % {"count": taken} if taken else _("These notes went to other annotators."))
    return redirect("notes", slug)
