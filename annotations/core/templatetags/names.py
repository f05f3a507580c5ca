"""Names in one line, which the browser shortens in the middle: names of notes, runs and labels differ in their ends."""

from django import template
from django.utils.safestring import SafeString

from annotations.core.templatetags.rows import fill

register = template.Library()

# Code points at the end that are always shown, and the length from which on a name has such an end. As in dom.js.
END, LONG = 8, 16
SHORT = '<span class="name" title="{}"><span class="name-start">{}</span></span>'
# Screen readers would pause between the parts, so they get the name in one piece.
IN_PARTS = (
    '<span class="name" title="{}"><span class="sr-only">{}</span><span class="name-start" aria-hidden="true">{}</span>'
    '<span class="name-end" aria-hidden="true">{}</span></span>'
)


@register.filter
def middle(name: str) -> SafeString:
    """The name in two parts, of which the first may be cut; in full as its title and for screen readers."""
    name = str(name)
    if len(name) <= LONG:
        return fill(SHORT, name, name)
    return fill(IN_PARTS, name, name, name[:-END], name[-END:])
