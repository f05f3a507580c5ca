"""The page header: project navigation, icons, the version. Links to pages that are not installed are left out."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core import addresses, navigation
from annotations.core.access import Access
from annotations.core.templatetags.rows import EMPTY, fill

register = template.Library()


@dataclass(frozen=True)
class Link:
    """A link of the header. `current` is the value of aria-current, or empty; `count` is empty without a number."""

    name: str
    url: str
    current: str
    count: str
    links: "tuple[Link, ...]" = ()

    def element(self) -> SafeString:
        """The link as HTML: thirty of them in a template take a fifth of a page's time."""
        current = fill(' aria-current="{}"', self.current) if self.current else EMPTY
        count = fill('<span class="count">{}</span>', self.count) if self.count else EMPTY
        return fill('<a href="{}"{}>{}{}</a>', self.url, current, self.name, count)


@lru_cache(maxsize=1024)
def _url(name: str, *args: object) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


Navigation = tuple[list[tuple[navigation.NavigationGroup, list[navigation.Entry]]], navigation.Entry | None]


def navigation_of(access: Access, here: str, request: HttpRequest) -> Navigation:
    """Return what this person may open, and the current entry. The parts of a page share it."""
    if "navigation" not in access.computed:
        slug = access.project.slug
        allowed = navigation.allowed(lambda entry: access.can(entry.right) and bool(_url(entry.page, slug)))
        access.computed["navigation"] = allowed, navigation.current(here, request.GET, allowed)
    found: Navigation = access.computed["navigation"]
    return found


def header(access: Access, area: navigation.Area, here: str, request: HttpRequest) -> list[Link]:
    """Return the groups of an area that this person may open, the current one with its links.

    `here` is the URL name of the current page. A group leads to its first link.
    """
    groups, current = navigation_of(access, here, request)
    found = []
    for group, entries in groups:
        if group.area != area:
            continue
        inside = current in entries
        # Only a shown second level is counted.
        shown = entries if (inside or area != navigation.Area.ROW) else entries[:1]
        counted = not navigation.fills_window(here)
        links = tuple(_link(entry, access, current, request, counted=counted) for entry in shown)
        state = "page" if inside and len(links) == 1 and links[0].current == "page" else "true" if inside else ""
        second = links if (inside and len(links) > 1) or area != navigation.Area.ROW else ()
        found.append(Link(_(group.name), links[0].url, state, _count(group.counter, access), second))
    return found


def _link(
    entry: navigation.Entry, access: Access, current: navigation.Entry | None, request: HttpRequest, *, counted: bool
) -> Link:
    path = _url(entry.page, access.project.slug)
    query = list(entry.query.items())
    if current is not None and current.group == entry.group:
        query += [(name, value) for name in entry.keeps for value in request.GET.getlist(name)]
    url = path + (f"?{urlencode(query)}" if query else "") + (f"#{entry.fragment}" if entry.fragment else "")
    state = "" if entry is not current else "page" if request.path == path else "true"
    return Link(_(entry.name), url, state, _count(entry.counter if counted else "", access))


def _count(counter: str, access: Access) -> str:
    number = import_string(counter)(access) if counter else None
    if not number:
        return ""
    return f"{navigation.MOST}+" if number > navigation.MOST else str(number)


def _in_area(context: dict[str, Any], area: navigation.Area) -> tuple[list[Link], str]:
    """Return the groups of an area and the URL name of the page; no groups on a page outside a project."""
    access, request = context.get("access"), context.get("request")
    if not access or not request:
        return [], ""
    match = getattr(request, "resolver_match", None)
    here = (match.url_name if match else "") or ""
    return header(access, area, here, request), here


@register.inclusion_tag("includes/project_nav.html", takes_context=True)
def project_nav(context: dict[str, Any]) -> dict[str, Any]:
    """Show the first level of the project in `access`, and the second level of its current group."""
    groups, here = _in_area(context, navigation.Area.ROW)
    compact = navigation.fills_window(here)
    return {"groups": groups, "compact": compact, "second": not compact and any(group.links for group in groups)}


@register.inclusion_tag("includes/gear_menu.html", takes_context=True)
def gear_menu(context: dict[str, Any]) -> dict[str, Any]:
    """Show the menu behind the gear."""
    groups, _here = _in_area(context, navigation.Area.GEAR)
    return {"groups": groups, "current": any(group.current for group in groups)}


@register.simple_tag(takes_context=True)
def account_links(context: dict[str, Any]) -> list[Link]:
    """Return the links of the project in the account menu."""
    return [link for group in _in_area(context, navigation.Area.ACCOUNT)[0] for link in group.links]


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
def address(purpose: str, *args: object) -> str:
    """Return the address of another feature's page by its purpose (`core.addresses`); empty without one."""
    return addresses.address(purpose, *args)


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
