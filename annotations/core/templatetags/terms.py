"""Words explained where they stand, by the sentences of the glossary (docs/glossary.md).

The explanation is a popover of the browser: a click, a tap or a key opens it, Escape closes it, and it needs no script
and no room on the page.
"""

import re
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

register = template.Library()

_ROW = re.compile(r"^\| \*\*(.+?)\*\*(?: \([^|]*\))? \| (.+) \|$", re.M)
_MARKS = re.compile(r"\*\*|`|\[([^\]]*)\]\([^)]*\)")


@cache
def glossary() -> dict[str, str]:
    """Return the sentences of the glossary by word, in lower case. Words of one row have the same sentences."""
    text = (settings.DOCS_DIR / "glossary.md").read_text(encoding="utf-8")
    rows = ((words, _MARKS.sub(r"\1", meaning)) for words, meaning in _ROW.findall(text))
    return {word.strip().lower(): meaning for words, meaning in rows for word in words.split(",")}


@register.simple_tag(takes_context=True)
def term(context: dict[str, Any], word: str, shown: str = "") -> SafeString:
    """Show a word of the glossary, or `shown` in its place, with its explanation. Raises KeyError for other words.

    The first one on a page holds the explanation, the others open the same. Not for use inside of labels and links.
    """
    meaning, request = glossary()[word], context.get("request")
    name = f"term-{slugify(word)}"
    held: set[str] = request.__dict__.setdefault("explained_terms", set()) if request else set()
    button = format_html('<button type="button" class="term" popovertarget="{}">{}</button>', name, shown or word)
    if name in held:
        return button
    held.add(name)
    return format_html('{}<span class="term-text" id="{}" popover>{}</span>', button, name, meaning)
