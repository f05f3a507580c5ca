"""Words explained where they stand, by the sentences of the glossary (docs/glossary.md).

The explanation is a popover of the browser: a click, a tap or a key opens it, Escape closes it, and it needs no script
and no room on the page.
"""

import re
from collections import Counter
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

    Each holds its own explanation, since browsers show none that is inside of a folded part. Not for use inside of
    labels, links and summaries. In `_("…")` of a template, Django doubles percent signs.
    """
    meaning, request = glossary()[word], context.get("request")
    held: Counter[str] = request.__dict__.setdefault("explained_terms", Counter()) if request else Counter()
    held[word] += 1
    name = f"term-{slugify(word)}-{held[word]}"
    return format_html(
        '<button type="button" class="term" popovertarget="{}">{}</button>'
        '<span class="term-text" id="{}" popover>{}</span>',
        name, shown.replace("%%", "%") or word, name, meaning,
    )  # fmt: skip
