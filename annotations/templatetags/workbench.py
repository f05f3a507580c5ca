"""The two lists beside a note: the labels, and the notes around it. Tags rather than template loops, as in `rows`."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.selectors.workbench import LabelItem, NoteItem
from annotations.templatetags.nav import icon
from annotations.templatetags.rows import EMPTY, fill

register = template.Library()

DOT = SafeString('<span class="dot" aria-hidden="true"></span>')
HERE = SafeString(' aria-current="page"')
LABEL = (
    '<li><button class="wb-label hue-{}" type="button" data-label-id="{}" aria-pressed="false"{}>'
    '<span class="swatch underline-{}" aria-hidden="true">a</span><span class="name">{}</span>'
    '<span class="count" data-count="{}"></span>{}</button></li>'
)


@register.simple_tag
def label_buttons(labels: Sequence[LabelItem]) -> SafeString:
    """The labels under their categories."""
    return SafeString(
        "\n".join(
            fill("<h3>{}</h3><ul>{}</ul>", category, SafeString("\n".join(_button(label) for label in group)))
            for category, group in groupby(labels, key=lambda label: label["category"])
        )
    )


def _button(label: LabelItem) -> SafeString:
    pk = str(label["id"])
    title = fill(' title="{}"', label["description"]) if label["description"] else EMPTY
    key = fill("<kbd>{}</kbd>", label["key"]) if label["key"] else EMPTY
    return fill(LABEL, str(label["hue"]), pk, title, str(label["underline"]), breakable(label["name"]), pk, key)


@register.filter
def breakable(name: str) -> SafeString:
    """A label's name, escaped, which may go on in the next line after an underscore; as `breakable` in dom.js."""
    return SafeString(escape(name).replace("_", "_<wbr>"))


@register.simple_tag
def note_items(notes: Sequence[NoteItem], slug: str, current: int) -> SafeString:
    """The notes as links to their annotate pages, each with its state."""
    done = fill('{}<span class="sr-only">{}</span>', icon("check"), _("done:"))
    flag = fill('<span class="flagged">{}<span class="sr-only">{}</span></span>', icon("flag"), _("flagged"))
    # The address of any of them tells those of all.
    before, after = reverse("annotate", args=[slug, 0]).rsplit("/0/", 1)
    return SafeString(
        "\n".join(
            fill(
                '<li><a href="{}/{}/{}"{} class="is-{}">{}<span class="name">{}</span>{}</a></li>',
                before,
                str(item.pk),
                after,
                HERE if item.pk == current else EMPTY,
                item.state or "other",
                done if item.state == "done" else DOT,
                item.name,
                flag if item.flagged else EMPTY,
            )
            for item in notes
        )
    )
