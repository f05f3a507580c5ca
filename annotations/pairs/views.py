"""The page of pairs of clear and published decisions."""

from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.forms import attempted
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, paged, posted, takes_uploads
from annotations.core.services import ServiceError
from annotations.models import PublishedState
from annotations.pairs import selectors
from annotations.pairs.forms import PileForm
from annotations.pairs.services.settling import settle, undo_settlement
from annotations.pairs.services.starting import start_pairing

ROWS = 50
OPEN_ROWS = 10
NO_NOTE = "none"
UNDO = "undo"


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def pairs(request: Request, access: Access) -> HttpResponse:
    """Show the pairs, the figures and what a person settles. A POST uploads a pile and starts the job."""
    form = PileForm(posted(request), request.FILES or None)
    start = partial(start_pairing, project=access.project, actor=access.user)
    if job := attempted(form, lambda: start(**form.chosen), {"pile": "file", "zip": "file"}):
        return redirect("job", access.slug, job.number)
    state = selectors.state_of(request.GET.get("state", ""))
    context = {
        "form": form,
        "figures": selectors.statistics(access.project),
        "state": state,
        "states": [
            ("", _("All")),
            (selectors.FLAGGED, _("Flagged")),
            *[(value, label) for value, label in PublishedState.choices if value != PublishedState.NEW],
        ],
        "flagged_below": selectors.FLAGGED_BELOW,
        "page": paged(request, selectors.decisions(access.project, state), ROWS),
        "open": paged(request, selectors.to_settle(access.project, number(request.GET, "choose")), OPEN_ROWS, "open"),
    }
    return render(request, "pairs/pairs.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def pair_settle(request: Request, access: Access, pk: int) -> HttpResponse:
    """Settle which note belongs to a published decision: the id `note`, “none” of the candidates, or “undo”."""
    found = selectors.decision_of(access, pk)
    note = number(request.POST, "note")
    with error_as_message(request):
        if request.POST.get("note") == UNDO:
            undo_settlement(published=found, actor=access.user)
            return redirect("pairs", access.slug)
        if note is None and request.POST.get("note") != NO_NOTE:
            raise ServiceError(_("Choose a note, or none. Nothing was changed."), code="candidate")
        row = settle(published=found, note=note, actor=access.user)
        text = _("Paired.") if row.state == PublishedState.PAIRED else _("No note belongs to this decision.")
        messages.success(request, text)
    return redirect("pairs", access.slug)
