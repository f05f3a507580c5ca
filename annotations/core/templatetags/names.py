"""Names of notes in narrow lists, which the browser shortens in the middle: notes differ in the end of their names."""

from django.utils.safestring import SafeString

from annotations.core.templatetags.rows import EMPTY, fill

# Code points at the end that are always shown, and the length from which on a name has such an end. As in notes.js.
END, LONG = 8, 16


def note_name(name: str) -> SafeString:
    """The name in two parts, of which the first may be cut; in full as its title."""
    cut = len(name) - END if len(name) > LONG else len(name)
    end = fill('<span class="name-end">{}</span>', name[cut:]) if name[cut:] else EMPTY
    return fill('<span class="name" title="{}"><span class="name-start">{}</span>{}</span>', name, name[:cut], end)
