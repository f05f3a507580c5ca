"""The list of labels beside a note. A tag, because a template loop is slower (see `rows`)."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from django import template
from django.utils.safestring import SafeString

from annotations.core.labels import LabelItem
from annotations.core.templatetags.rows import EMPTY, fill

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
    """Show the labels under their categories."""
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
    """Escape a label's name and allow line breaks after its underscores, like `breakable` in dom.js."""
    return SafeString(escape(name).replace("_", "_<wbr>"))
