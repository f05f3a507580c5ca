"""Page of the audit trail."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter
from annotations.core.events import sentences
from annotations.core.requests import Request, number
from annotations.projects.selectors.audit import Filter, audit_page, people


@require_safe
def audit(request: Request, slug: str) -> HttpResponse:
    """Events, newest first. The URL holds the filters and the page's position as ids and verbs only."""
    access = enter(request.user, slug, Can.SEE_AUDIT)
    verbs = sentences()
    verb = request.GET.get("verb", "")
    wanted = Filter(verb=verb if verb in verbs else "", person=number(request.GET, "person"))
    page = audit_page(
        access.project, wanted, older_than=number(request.GET, "before"), newer_than=number(request.GET, "after")
    )
    context = {
        "access": access,
        "page": page,
        "wanted": wanted,
        "verbs": verbs.items(),
        "people": people(access.project),
        "moved": "before" in request.GET or "after" in request.GET,
    }
    return render(request, "projects/audit_list.html" if request.htmx else "projects/audit.html", context)
