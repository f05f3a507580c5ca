from collections.abc import Collection

from django.utils.translation import gettext as _

from annotations.text.names import bad_character, shown


class ServiceError(Exception):
    """An error for the user, in whole sentences: what is wrong, where, and what to do. Never holds note text."""

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code


def check_choice(value: str, choices: Collection[str], message: str, *, code: str) -> None:
    """Raise ServiceError unless the value is one of the choices. The message names %(name)s and %(choices)s."""
    if value not in choices:
        raise ServiceError(message % {"name": value[:80], "choices": ", ".join(choices)}, code=code)


class LimitReached(Exception):
    """A person requests more than one person may have at a time. The message is a sentence for them.

    Not a ServiceError: every page answers it with the status 429 (deidreview.limits). `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, code: str, retry_after: int) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


# The rule for names of projects, labels, people, runs and models, from pages, commands and files alike.


def good_name(name: str, *, code: str = "name") -> str:
    """Return the name without surrounding white space. Raises ServiceError (`code`) for a hidden character in it."""
    name = name.strip()
    if bad := bad_character(name):
        message = _(
            "“%(name)s” contains %(character)s, a hidden character that controls text or its direction. Remove it."
        )
        raise ServiceError(message % {"name": shown(name)[:80], "character": bad}, code=code)
    return name
