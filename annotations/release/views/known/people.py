"""The patients of the master. Values are shown on request only, and each time is recorded."""

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Can, enter
from annotations.core.requests import Request, paged
from annotations.models import Document
from annotations.release.selectors.known import names_of, people_listed
from annotations.release.services.known.master import delete_person, show_person
from annotations.release.views.known.words import FIELD_NAMES

ROWS = 50


@require_safe
def known_people(request: Request, slug: str) -> HttpResponse:
    """List the patients with the number of their notes and the names of their fields."""
    access = enter(request.user, slug, Can.MANAGE)
    page = paged(request, people_listed(access.project), ROWS)
    notes = Document.objects.filter(project=access.project, patient_id__in=[row.patient_id for row in page])
    counts = dict(notes.order_by().values_list("patient_id").annotate(count=Count("id")))
    rows = [(row, counts.get(row.patient_id, 0), [FIELD_NAMES[name] for name in names_of(row.fields)]) for row in page]
    return render(request, "release/known/people.html", {"access": access, "page": page, "rows": rows})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def known_person(request: Request, slug: str, pk: int) -> HttpResponse:
    """One patient, with masked values. POST `do`: show, which shows the values and is recorded, or delete."""
    access = enter(request.user, slug, Can.MANAGE)
    row = get_object_or_404(people_listed(access.project), pk=pk)
    fields = [(FIELD_NAMES[name], ["•••"]) for name in names_of(row.fields)]
    shown = False
    if request.method == "POST":
        match request.POST.get("do"):
            case "delete":
                delete_person(project=access.project, person_id=pk, actor=access.user)
                messages.success(request, _("The patient's known identifiers were deleted. The notes are unchanged."))
                return redirect("known_people", slug)
            case "show":
                person = show_person(project=access.project, row=row, actor=access.user)
                if person is not None:
                    fields = [(FIELD_NAMES[name], values) for name, values in person.as_dict().items()]
                    shown = True
            case _:
                messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    context = {"access": access, "row": row, "fields": fields, "shown": shown}
    return render(request, "release/known/person.html", context)
