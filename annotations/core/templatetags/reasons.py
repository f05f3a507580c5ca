"""Translated reasons why a figure is undefined. The domain gives them in English, and they are stored in English."""

import re

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

register = template.Library()

# The reasons that annotations.agreement.rules and model cards give, with a placeholder for each value.
REASONS = [
    _("No note has been submitted by two annotators."),
    _("Nobody marked anything."),
    _("Nobody marked anything in the notes with this many annotators."),
    _("The two annotators have no note in common."),
    _("Neither annotator marked anything in their common notes."),
    _("An interval over notes needs at least two notes."),
    _("The figure is undefined in %(missing)s of %(samples)s samples of the notes."),
    _("All values are the same (%(value)s), so no disagreement is expected by chance."),
    _("No note has been submitted by all annotators."),
    _("Nobody gave this value."),
    _("Nobody gave another value, so no disagreement is expected by chance."),
    _("No span was found by two annotators, so the number of missed spans can't be estimated."),
    _("Nobody marked anything in the notes of this annotator."),
    _("This model was trained before intervals were computed."),
]


def _pattern(sentence: str) -> re.Pattern[str]:
    """Compile a pattern that matches the reason, with a named group for each of its placeholders."""
    parts = re.split(r"%\((\w+)\)s", sentence)
    return re.compile(
        "".join(f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.DOTALL
    )


PATTERNS = [(_pattern(sentence), sentence) for sentence in REASONS]


@register.filter
def reason(said: str) -> str:
    """Translate a reason of the domain to the page's language; an unknown reason stays in English."""
    for pattern, sentence in PATTERNS:
        if found := pattern.fullmatch(said or ""):
            return gettext(sentence) % found.groupdict() if found.groupdict() else gettext(sentence)
    return said
