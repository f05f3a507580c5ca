"""The list of labels beside a note, built by Python because a template loop is slower (see `rows`)."""

from collections.abc import Sequence
from itertools import groupby

from django.utils.safestring import SafeString

from annotations.core.labels import LabelItem
from annotations.core.templatetags.rows import EMPTY, breakable, fill

DOT = SafeString('<span class="dot" aria-hidden="true"></span>')


HERE = SafeString(' aria-current="page"')


LABEL = (
    '<li><button class="wb-label hue-{}" type="button" data-label-id="{}" aria-pressed="false" title="{}">'
    '<span class="swatch underline-{}" aria-hidden="true">&nbsp;&nbsp;&nbsp;&nbsp;</span>{}'
    '<span class="count" data-count="{}"></span>{}</button></li>'
)


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
    title = f"{label['name']}: {label['description']}" if label["description"] else label["name"]
    key = fill("<kbd>{}</kbd>", label["key"]) if label["key"] else EMPTY
    return fill(LABEL, str(label["hue"]), pk, title, str(label["underline"]), breakable(label["name"]), pk, key)
