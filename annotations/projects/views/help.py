"""The guide inside the app."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotations.core.requests import Request
from annotations.projects.selectors.help import FIRST, files, page_of


@require_safe
def page(request: Request, name: str = FIRST) -> HttpResponse:
    """A page of the guide. The guide is the same for everybody and holds no data."""
    if name not in files():
        raise Http404("The guide has no such page.")
    pages = [(each, page_of(each).title) for each in sorted(files(), key=lambda each: (each != FIRST, each))]
    return render(
        request, "projects/help/page.html", {"name": name, "guide": page_of(name), "pages": pages, "first": FIRST}
    )
