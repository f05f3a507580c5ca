"""The contents list of a long page, made from the headings of its sections."""

import re
from html import unescape

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join, strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

# With fewer sections, a list is of no use.
LEAST = 3
_HEADING = re.compile(r'<(h2|th)\b[^>]*?\bid="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
# Parts of a heading that are not its name: counts, states and hints.
_ASIDE = re.compile(
    r"""<(\w+)\b[^>]*\bclass=["'](?:[^"']* )?(?:tag|mute|pill-note|sr-only|soft|swatch)\b[^>]*>.*?</\1>""", re.DOTALL
)


def _name(heading: str) -> str:
    return " ".join(unescape(strip_tags(_ASIDE.sub("", heading))).split())


@register.simple_block_tag
def contents(content: str) -> SafeString:
    """Put a list of the sections before the content of a page: its h2, and heads of groups of rows, that have an id.

    The list is beside the text where there is room, and folded on small screens. It needs no script; with
    static/js/core/contents.js, the list opens where there is room, and marks the current section.
    """
    found = [(pk, name) for _tag, pk, heading in _HEADING.findall(content) if (name := _name(heading))]
    if len(found) < LEAST:
        return SafeString(content)
    title = _("Contents")
    return format_html(
        '<nav class="contents" aria-label="{}"><details><summary>{}</summary><ol>{}</ol></details>'
        '<script type="module" src="{}"></script></nav>\n{}',
        title,
        title,
        format_html_join("", '<li><a href="#{}">{}</a></li>', found),
        static("js/core/contents.js"),
        SafeString(content),
    )
