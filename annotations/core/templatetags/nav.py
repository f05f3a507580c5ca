"""The header: project navigation, icons, the version. Links whose pages are not installed are left out."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop as _

register = template.Library()

# Tab (the template translates it), URL name, the right it needs (core.access.Can by name), other URL names that
# belong under it.
TABS: list[tuple[str, str, str, frozenset[str]]] = [
    (_("Overview"), "project", "SEE_PROJECT", frozenset()),
    (_("Notes"), "notes", "SEE_PROJECT", frozenset({"note", "annotate", "next_note", "outcome"})),
    (_("Search"), "search", "SEE_PROJECT", frozenset({"search_results"})),
    (_("Import"), "import", "MANAGE", frozenset({"import_preview"})),
    (_("Labels"), "labels", "MANAGE", frozenset({"label_edit", "label_merge"})),
    (_("People"), "people", "MANAGE", frozenset({"member_remove", "member_link"})),
    (_("Guidelines"), "guidelines", "SEE_PROJECT", frozenset({"guidelines_edit", "amendments", "amend"})),
    (_("Agreement"), "agreement", "READ_NOTES", frozenset({"disagreements", "disagreement_talk"})),
    (_("Adjudicate"), "adjudications", "MAKE_GOLD", frozenset({"adjudicate", "adjudicate_next"})),
    (
        _("Runs"),
        "runs",
        "READ_NOTES",
        frozenset(
            {
                *("run", "run_combine", "run_llm", "run_pipeline", "run_tagger", "backends", "calibration"),
                *("runs_compare", "compare_places"),
            }
        ),
    ),
    (
        _("Review"),
        "review_strings",
        "MAKE_GOLD",
        frozenset({"review", "review_next", "review_string", "review_bulk_new", "review_bulk", "acceptance"}),
    ),
    (_("Models"), "models", "READ_NOTES", frozenset({"model"})),
    (_("Gold"), "gold", "READ_NOTES", frozenset({"gold_version", "gold_changes", "loop"})),
    (
        _("Scores"),
        "scores",
        "READ_NOTES",
        frozenset({"score", "score_places", "judgings", "judge", "judging", "judging_places"}),
    ),
    (_("Export"), "export", "EXPORT", frozenset()),
    (_("Jobs"), "jobs", "READ_NOTES", frozenset({"job"})),
    (_("Audit"), "audit", "SEE_AUDIT", frozenset()),
    (_("Settings"), "project_settings", "MANAGE", frozenset({"patients"})),
]


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
    """The tabs this person may open. `here` is the current URL name, `path` the current path."""
    found = []
    for name, url_name, right, under in TABS:
        url = _url(url_name, slug) if rights.get(right) else ""
        if url:
            current = "page" if path == url else "true" if here in under or here == url_name else ""
            found.append(Tab(name, url, current))
    return found


@register.inclusion_tag("includes/project_nav.html", takes_context=True)
def project_nav(context: dict[str, Any]) -> dict[str, Any]:
    """The tabs of the project in `access`; nothing where the page stands outside a project."""
    access, request = context.get("access"), context.get("request")
    if not access or not request:
        return {"tabs": []}
    match = getattr(request, "resolver_match", None)
    here = (match.url_name if match else "") or ""
    return {"tabs": tabs(access.rights, access.project.slug, here, request.path)}


@register.simple_tag
def nav_url(name: str, *args: object) -> str:
    """Like {% url %}, but empty where there is no such page."""
    return _url(name, *args)


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """One icon of the local set; it is decoration, so the text beside it must say the same."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>',
        static("icons/icons.svg"),
        name,
    )


@register.simple_tag
def app_version() -> str:
    return str(settings.VERSION)
