"""Why a figure is undefined, in the language of the page: the domain says it in English, and it is kept so."""

import re

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

register = template.Library()

# What annotations.domain.agreement says, with a place for each value.
REASONS = [
    _("no note has been submitted by two annotators"),
    _("nobody marked anything"),
    _("they read no note in common"),
    _("neither of them marked anything in the notes that both read"),
    _("an interval over notes needs at least two of them"),
    _("in %(missing)s of %(samples)s samples of the notes it is undefined"),
    _("only one value was ever given (%(value)s): there is no disagreement to expect"),
    _("no note was read by all annotators"),
    _("nobody gave it"),
    _("nobody ever gave another value: there is no disagreement to expect"),
    _("nothing was found by two readers: how much was missed by all can't be told"),
    _("nobody marked anything in the notes that they read"),
]


def _pattern(words: str) -> re.Pattern[str]:
    """What fits `words`, with a named group for each of its places."""
    parts = re.split(r"%\((\w+)\)s", words)
    return re.compile(
        "".join(f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.DOTALL
    )


PATTERNS = [(_pattern(words), words) for words in REASONS]


@register.filter
def reason(said: str) -> str:
    """A reason of the domain in the language of the page; one that is not known stays as it was said."""
    for pattern, words in PATTERNS:
        if found := pattern.fullmatch(said or ""):
            return gettext(words) % found.groupdict() if found.groupdict() else gettext(words)
    return said
