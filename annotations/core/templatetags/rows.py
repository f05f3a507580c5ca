"""The rows of long tables. A tag builds fifty rows of seven cells ten times as fast as a template loop.

`fill` escapes all text that people typed.
"""

from html import escape

from django import template
from django.utils.safestring import SafeString

register = template.Library()


NOTHING = SafeString('<span class="mute">–</span>')


EMPTY = SafeString("")


def fill(markup: str, *values: str) -> SafeString:
    """Like `format_html`, for strings only and three times as fast: escapes every value that isn't a SafeString."""
    return SafeString(markup.format(*[value if isinstance(value, SafeString) else escape(value) for value in values]))


def cell(label: str, content: str, classes: str = "") -> SafeString:
    """Return a table cell. Small screens, which stack the cells of a row, leave out empty ones."""
    if not content:
        return fill('<td data-label="{}" class="{} none">{}</td>', label, classes, NOTHING)
    return fill('<td data-label="{}" class="{}">{}</td>', label, classes, content)
