"""The list of notes to adjudicate."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotations.agreement.selectors.adjudication.waiting import (
    Show,
    adjudication_list,
    finished_without_gold,
    next_to_adjudicate,
    numbers,
    unanimous_notes,
)
from annotations.agreement.services.adjudication.deciding import finish_unanimous
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, number
from annotations.models import Author, AuthorKind, Document

# Seconds for which a request may compare notes (for the page itself, for its progress bar) and finish unanimous notes.
AT_ONCE, IN_STEPS, FINISHING = 0.4, 1.5, 5.0


@require_safe
def adjudications(request: Request, slug: str) -> HttpResponse:
    """List the notes that two or more annotators have submitted, lowest agreement first."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    project = access.project
    left = bring_up_to_date(project, seconds=IN_STEPS if request.htmx else AT_ONCE)
    notes = Document.objects.filter(project=project).count()
    context = {"access": access, "left": left, "notes": notes, "done": max(0, notes - left)}
    if request.htmx:
        if not left:
            return HttpResponseClientRefresh()
        return render(request, "agreement/disagreements_comparing.html", context)
    if left:
        return render(request, "agreement/adjudicate/adjudications.html", context)
    asked = request.GET.get("show", "")
    show = Show(asked) if asked in Show.values else Show.TODO
    counted = numbers(project)
    author = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).values_list("pk", flat=True).first()
    context |= {
        "show": show,
        "choices": [(each.value, each.label, counted[each.value]) for each in Show],
        "counted": counted,
        "page": adjudication_list(project, show, number(request.GET, "page") or 1),
        "unanimous": unanimous_notes(project).count() if project.unanimous_passes else 0,
        "author": author,
        "without_gold": finished_without_gold(project) if author else 0,
    }
    return render(request, "agreement/adjudicate/adjudications.html", context)


@require_safe
def adjudicate_next(request: Request, slug: str) -> HttpResponse:
    """Redirect to the next unfinished note after ?after=ID in the list's order, or to the list if none is left."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    bring_up_to_date(access.project, seconds=AT_ONCE)
    found = next_to_adjudicate(access.project, number(request.GET, "after"))
    if found is not None:
        return redirect("adjudicate", slug, found)
    messages.success(request, _("No note is left to adjudicate."))
    return redirect(f"{reverse('adjudications', args=[slug])}?show=finished")


@require_POST
def adjudicate_unanimous(request: Request, slug: str) -> HttpResponse:
    """Finish the notes on which all annotators agree, in a project that accepts unanimous annotations."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    try:
        bring_up_to_date(access.project, seconds=AT_ONCE)
        done, left = finish_unanimous(project=access.project, user=access.user, seconds=FINISHING)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("adjudications", slug)
    message = ngettext("%(n)d unanimous note was finished.", "%(n)d unanimous notes were finished.", done) % {"n": done}
    if left:
        more = ngettext(
            "%(n)d note is left. Press the button again.", "%(n)d notes are left. Press the button again.", left
        ) % {"n": left}
        message = f"{message} {more}"
    messages.success(request, message)
    return redirect("adjudications", slug)
