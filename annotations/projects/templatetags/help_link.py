"""The link to the section of the guide about the page that is open."""

from typing import Any

from django import template
from django.urls import reverse

from annotations.core import navigation
from annotations.models import Role
from annotations.projects.selectors.help import sections_of

register = template.Library()
# The pages for each role, the most special one first.
PAGES = {
    Role.VIEWER: ["viewer"],
    Role.ANNOTATOR: ["annotator"],
    Role.REVIEWER: ["reviewer", "annotator"],
    Role.MANAGER: ["manager", "reviewer", "annotator"],
}


@register.simple_tag(takes_context=True)
def help_url(context: dict[str, Any]) -> str:
    """Return the address of the section for the person's role: about this page, otherwise about its group."""
    access, match = context.get("access"), getattr(context.get("request"), "resolver_match", None)
    if not access or not match:
        return reverse("help")
    here = match.url_name or ""
    entry = navigation.current(here, context["request"].GET, lambda one: access.can(one.right))
    pages = PAGES[Role(access.membership.role)]
    for section in (here, entry.group if entry else ""):
        for page in pages:
            if section in sections_of(page):
                return f"{reverse('help_page', args=[page])}#{section}"
    return reverse("help_page", args=[pages[0]])
