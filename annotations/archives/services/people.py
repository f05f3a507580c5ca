"""The people of an archive: which accounts here they stand for."""

from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from annotations.accounts.services.members import create_user
from annotations.archives.services.keys import Bad
from annotations.core.errors import ServiceError
from annotations.models import Project, User

# User names asked for in one query.
BATCH = 500


class Person(NamedTuple):
    """A person of the archive. `role` is empty for a person who is no member, `account` the user name here, if any."""

    name: str
    role: str
    active: bool
    account: str


def name_of(row: dict[str, Any]) -> str:
    """The user name of a row of people.jsonl. Raises Bad."""
    name = row.get("name")
    if not isinstance(name, str) or not name or set(row) != {"name", "member"}:
        raise Bad(_("must have a user name as “name”, and “member”"))
    return name


def accounts_here(names: list[str]) -> dict[str, User]:
    """The accounts of this instance by the lower-case user name, for the names that have one."""
    found: dict[str, User] = {}
    for at in range(0, len(names), BATCH):
        wanted = [name.lower() for name in names[at : at + BATCH]]
        rows = User.objects.annotate(lower=Lower("username")).filter(lower__in=wanted)
        found |= {user.username.lower(): user for user in rows}
    return found


def make_account(name: str, project: Project) -> User:
    """Make an inactive account without a password. An administrator can activate it. Raises Bad."""
    try:
        user = create_user(username=name, created_in=project)
    except (ServiceError, ValidationError):
        raise Bad(_("has a user name that is not allowed here")) from None
    user.is_active = False
    user.save(update_fields=["is_active"])
    return user
