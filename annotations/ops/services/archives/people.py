"""The people of an archive. Their work belongs to inactive accounts that are marked as imported.

Nobody's own account gets work or a role by an import: otherwise whoever writes an archive could sign for colleagues.
"""

from typing import Any, NamedTuple

from allauth.account.adapter import get_adapter
from django.core.exceptions import ValidationError
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from annotations.core.authors import IMPORTED
from annotations.models import User
from annotations.ops.services.archives.numbers import Bad

# User names asked for in one query.
BATCH = 500
LONGEST = 150 - len(IMPORTED)


class Person(NamedTuple):
    """A person of the archive. `role` is empty for a person who is no member.

    `account`: the user name of an account here of the same name, if any. It gets nothing by the import.
    """

    name: str
    role: str
    active: bool
    account: str


def name_of(row: dict[str, Any]) -> str:
    """The user name of a row of people.jsonl. Raises Bad."""
    name = row.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST or set(row) != {"name", "member"}:
        raise Bad(_("must have a user name of at most %(most)s characters as “name”, and “member”") % {"most": LONGEST})
    return name


def accounts_here(names: list[str]) -> dict[str, User]:
    """The accounts of this instance by the lower-case user name, for the names that have one."""
    found: dict[str, User] = {}
    for at in range(0, len(names), BATCH):
        wanted = [name.lower() for name in names[at : at + BATCH]]
        rows = User.objects.annotate(lower=Lower("username")).filter(lower__in=wanted)
        found |= {user.username.lower(): user for user in rows}
    return found


def make_account(name: str) -> User:
    """Make the account that stands for a person of an archive: inactive, and without a password. Raises Bad."""
    typed = name
    while typed.endswith(IMPORTED):  # It was imported before.
        typed = typed.removesuffix(IMPORTED)
    try:
        get_adapter().clean_username(typed, shallow=True)
    except ValidationError:
        raise Bad(_("has a user name that is not allowed here")) from None
    user = User(username=name + IMPORTED, is_active=False)
    user.set_unusable_password()
    user.save()
    return user
