"""The rule for names of projects, labels, people, runs and models, from pages, commands and files alike."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.text.names import bad_character, shown


def good_name(name: str, *, code: str = "name") -> str:
    """Return the name without surrounding white space. Raises ServiceError (`code`) for a hidden character in it."""
    name = name.strip()
    if bad := bad_character(name):
        raise ServiceError(
            _("“%(name)s” contains %(character)s, a hidden character that controls text or its direction. Remove it.")
            % {"name": shown(name)[:80], "character": bad},
            code=code,
        )
    return name
