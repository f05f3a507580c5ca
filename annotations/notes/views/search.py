"""Pages to search a project's notes: the form, and the results at an address with a random id."""

from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, number
from annotations.notes.forms import SearchForm, initial_of
from annotations.notes.selectors.searching import Options, recent_searches, results, search_of
from annotations.notes.services.searching import begin_search, record_search


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def search(request: Request, slug: str) -> HttpResponse:
    """The search form. A POST stores the search and redirects to its results."""
    access = enter(request.user, slug)
    form = SearchForm(request.POST if request.method == "POST" else None, access=access)
    if request.method == "POST" and form.is_valid():
        try:
            begun = begin_search(access=access, text=form.cleaned_data["text"], options=form.options)
        except ServiceError as error:
            add_error(form, error)
        else:
            return HttpResponseRedirect(reverse("search_results", args=[slug, begun.pk]), status=303)
    context = {"access": access, "form": form, "recent": recent_searches(access)}
    return render(request, "notes/search.html", context, status=422 if form.errors else 200)


@require_safe
def search_results(request: Request, slug: str, search: UUID) -> HttpResponse:
    """Notes with hits, after ?after=ID. 404 for searches of others and for expired ones."""
    access = enter(request.user, slug)
    found = search_of(access, search)
    if found is None:
        raise Http404("This search does not exist or has expired.")
    after = number(request.GET, "after") or 0
    page = results(access, found, after=after)
    record_search(access=access, search=found, found=page, after=after)
    options = Options.of(found.options)
    context = {
        "access": access,
        "search": found,
        "options": options,
        "form": SearchForm(access=access, initial=initial_of(found.text, options)),
        "page": page,
        "after": after,
    }
    return render(request, "notes/search_results.html", context)
