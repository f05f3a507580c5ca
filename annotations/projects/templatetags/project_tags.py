"""Tags of the pages of projects: links to the guide, rows of the audit log, and the sign-in page."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.overview import Stage
from annotations.core.templatetags.moments import moment
from annotations.core.templatetags.nav import navigation_of
from annotations.core.templatetags.rows import EMPTY, cell, fill
from annotations.models import Role
from annotations.projects.rules import LdapDirectory, OidcProvider
from annotations.projects.selectors.help import sections_of
from annotations.projects.selectors.members import AuditLine
from annotations.projects.selectors.providers import configured

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
    _groups, entry = navigation_of(access, here, context["request"])
    return _help_url(Role(access.membership.role), here, str(entry.group if entry else ""))


@lru_cache(maxsize=1024)
def _help_url(role: Role, *sections: str) -> str:
    """The address of the first of these sections that a page for the role has, otherwise of the role's page."""
    pages = PAGES[role]
    for section in sections:
        for page in pages:
            if section in sections_of(page):
                return f"{reverse('help_page', args=[page])}#{section}"
    return reverse("help_page", args=[pages[0]])


@register.simple_tag
def funnel(stage: Stage, stages: Sequence[Stage]) -> SafeString:
    """A bar as wide as the stage's share of the notes of the largest stage. The numbers stand beside it as text."""
    most = max((one.notes or 0 for one in stages), default=0)
    if stage.notes is None or not most:
        return EMPTY
    share = 100 * stage.notes / most
    bar = (
        '<svg class="funnel" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="whole" width="100" height="10"/><rect width="{}" height="10"/></svg>'
    )
    return fill(bar, f"{share:.1f}")


# Table rows of the audit log.


@register.simple_tag
def audit_rows(lines: Iterable[AuditLine], notes_url: str) -> SafeString:
    """Table rows of the audit log. Existing notes are links below `notes_url`."""
    row = '<tr><td data-label="{}" class="nowrap">{}</td>{}{}{}{}</tr>'
    return SafeString(
        "\n".join(fill(row, _("When"), moment(line.at), *_audit_cells(line, notes_url)) for line in lines)
    )


def _audit_cells(line: AuditLine, notes_url: str) -> Iterator[str]:
    note: str = EMPTY
    if line.note is not None:
        note = fill('<a href="{}{}/">{}</a>', notes_url, str(line.note), line.note_name)
    elif line.note_name:
        note = fill('<span class="mute">{}</span>', line.note_name)
    yield cell(_("Person"), line.who)
    yield cell(_("Action"), line.what)
    yield cell(_("Note"), note)
    yield cell(_("Details"), line.details)


# Tags of the sign-in page.


@register.simple_tag
def password_form(request: HttpRequest) -> bool:
    """Whether to show the form for user name and password.

    Where only named accounts have a password, a link leads to it. A directory's passwords go into the same form.
    """
    named_only = settings.PASSWORD_ACCOUNTS is not None and len(settings.AUTHENTICATION_BACKENDS) < 3
    return not named_only or request.method == "POST" or "password" in request.GET


# Tags of the sign-in page and of the People page.


@register.simple_tag
def sign_in_buttons() -> list[tuple[str, str]]:
    """The names of the providers to which the sign-in page leads, and where it leads."""
    pages = [("openid_connect_login" if isinstance(one, OidcProvider) else "saml_login", one) for one in configured()]
    return [(one.name, reverse(page, args=[one.id])) for page, one in pages if not isinstance(one, LdapDirectory)]


@register.simple_tag
def has_providers() -> bool:
    return bool(configured())
