"""Table rows of the audit log."""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.templatetags.moments import moment
from annotations.core.templatetags.rows import EMPTY, cell, fill
from annotations.projects.selectors.audit import AuditLine

register = template.Library()


@register.simple_tag
def audit_rows(lines: Iterable[AuditLine], notes_url: str) -> SafeString:
    """Table rows of the audit log. Existing notes are links below `notes_url`."""
    labels = [_("Person"), _("Action"), _("Note"), _("Details")]
    when = _("When")
    row = '<tr><td data-label="{}" class="nowrap">{}</td>{}{}{}{}</tr>'
    return SafeString(
        "\n".join(
            fill(
                row,
                when,
                moment(line.at),
                *(cell(*pair) for pair in zip(labels, _audit_cells(line, notes_url), strict=True)),
            )
            for line in lines
        )
    )


def _audit_cells(line: AuditLine, notes_url: str) -> tuple[str, str, str, str]:
    note: str = EMPTY
    if line.note is not None:
        note = fill('<a href="{}{}/">{}</a>', notes_url, str(line.note), line.note_name)
    elif line.note_name:
        note = fill('<span class="mute">{}</span>', line.note_name)
    return line.who, line.what, note, line.details
