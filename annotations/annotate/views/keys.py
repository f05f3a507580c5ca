"""The page on which a person chooses their own keys for labels; ?note=ID is the note that it was opened from."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.annotate.forms import KeysForm
from annotations.annotate.selectors.personal import key_lines, program_keys
from annotations.annotate.services.personal import reset_keys, set_keys
from annotations.core.access import Access, Can, enter, notes_for
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, number


@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: Request, slug: str) -> HttpResponse:
    """Show all labels with the project's key and one's own; a POST changes one's own, or with do=reset deletes them."""
    access = enter(request.user, slug, Can.ANNOTATE)
    note = notes_for(access).only("id", "name").filter(pk=number(request.GET, "note") or 0).first()
    here = reverse("keys", args=[slug]) + (f"?note={note.pk}" if note else "")
    if request.method == "POST" and request.POST.get("do") == "reset":
        reset_keys(access=access)
        messages.success(request, _("Your keys are reset to the project's keys."))
        return redirect(here)
    lines = key_lines(access.project.pk, access.user.pk)
    form = KeysForm(request.POST if request.method == "POST" else None, lines=lines)
    if request.method == "POST" and form.is_valid() and _saved(request, access, form):
        return redirect(here)
    context = {
        "access": access,
        "form": form,
        "note": note,
        "here": here,
        "program": program_keys(),
        "changed": any(line.changed for line in lines),
    }
    return render(request, "annotate/keys.html", context, status=422 if form.errors else 200)


def _saved(request: Request, access: Access, form: KeysForm) -> bool:
    try:
        lost = set_keys(access=access, keys=form.keys())
    except ServiceError as error:
        add_error(form, error)
        return False
    messages.success(request, _("Your keys are saved."))
    if lost:
        messages.warning(request, _("These labels have no key now: %(labels)s.") % {"labels": ", ".join(lost)})
    return True
