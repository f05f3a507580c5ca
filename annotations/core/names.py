"""Names that people give to projects, labels, people, runs, models: one rule at every way in."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.names import bad_character, shown


def good_name(name: str, *, code: str = "name") -> str:
    """The name without white space around it. Raises ServiceError (`code`) for one that holds what no name may."""
    name = name.strip()
    if bad := bad_character(name):
        raise ServiceError(
            _(
                "the name %(name)s holds %(character)s, a control character or one that turns the direction of text; "
                "take it out"
            )
            % {"name": shown(name)[:80], "character": bad},
            code=code,
        )
    return name
