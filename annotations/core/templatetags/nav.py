"""The page header: project navigation, icons, the version. Links to pages that are not installed are left out."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotations.core import navigation

register = template.Library()


@dataclass(frozen=True)
class Tab:
    name: str
    url: str
    current: str  # the value of aria-current, or empty


@lru_cache(maxsize=1024)
def _url(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


def tabs(rights: dict[str, bool], slug: str, here: str, path: str) -> list[Tab]:
    """Return the tabs that this person may open. `here` is the current URL name, `path` the current path."""
    found = []
    for entry in navigation.entries():
        url = _url(entry.page, slug) if rights.get(entry.right.name) else ""
        if url:
            current = "page" if path == url else "true" if navigation.belongs(entry, here) else ""
            found.append(Tab(entry.name, url, current))
    return found


@register.inclusion_tag("includes/project_nav.html", takes_context=True)
def project_nav(context: dict[str, Any]) -> dict[str, Any]:
    """Show the tabs of the project in `access`; nothing on a page outside a project."""
    access, request = context.get("access"), context.get("request")
    if not access or not request:
        return {"tabs": []}
    match = getattr(request, "resolver_match", None)
    here = (match.url_name if match else "") or ""
    return {"tabs": tabs(access.rights, access.project.slug, here, request.path)}


@register.simple_tag(takes_context=True)
def page_link(context: dict[str, Any], number: int, name: str = "") -> str:
    """Return the query string for another page of a list. `name` is the query parameter, by default `page`."""
    query = context["request"].GET.copy()
    query[name or "page"] = str(number)
    return f"?{query.urlencode()}"


@register.simple_tag
def nav_url(name: str, *args: object) -> str:
    """Like {% url %}, but empty where the page does not exist."""
    return _url(name, *args)


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """Show an icon of the local set. Screen readers skip it, so the text beside it must have the same meaning."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>',
        static("icons/icons.svg"),
        name,
    )


@register.simple_tag
def app_version() -> str:
    return str(settings.VERSION)
