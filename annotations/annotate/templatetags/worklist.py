"""The list of notes around the open one, as a tag because a template loop is slow (see core.templatetags.rows)."""

from collections.abc import Sequence

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.annotate.selectors.worklist import NoteItem
from annotations.core.addresses import path_to
from annotations.core.templatetags.labels import DOT, HERE
from annotations.core.templatetags.nav import icon
from annotations.core.templatetags.rows import EMPTY, fill, middle
from annotations.models import Flag

register = template.Library()


@register.simple_tag
def flag_reasons() -> SafeString:
    """The reasons for a flag, of which one is chosen."""
    field = (
        '<div class="check"><input type="radio" name="reason" id="reason-{}" value="{}" required> '
        '<label for="reason-{}">{}</label></div>'
    )
    return SafeString(
        "\n".join(fill(field, each.value, each.value, each.value, str(each.label)) for each in Flag.Reason)
    )


@register.simple_tag
def note_items(notes: Sequence[NoteItem], slug: str, current: int) -> SafeString:
    """The notes as links to their annotate pages, each with its state."""
    done = fill('{}<span class="sr-only">{}</span>', icon("check"), _("done:"))
    flag = fill('<span class="flagged">{}<span class="sr-only">{}</span></span>', icon("flag"), _("flagged"))
    before, after = map(escape, path_to("annotate", slug, 0).rsplit("/0/", 1))
    return SafeString(
        "\n".join(
            f'<li><a href="{before}/{item.id}/{after}"{HERE if item.id == current else EMPTY} '
            f'class="is-{item.state or "other"}">{done if item.state == "done" else DOT}{middle(item.name)}'
            f"{flag if item.flagged else EMPTY}</a></li>"
            for item in notes
        )
    )
