from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, check_own, find_user
from annotations.models import User
from annotations.projects.selectors.members import state_of, tokens_of


class Command(JourneyCommand):
    help = "List the API tokens of a person."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of the person.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        check_own(actor, user)
        return {
            "tokens": [
                {
                    "id": row.pk,
                    "name": row.name,
                    "prefix": row.prefix,
                    "scope": row.scope,
                    "project": row.project.slug if row.project else None,
                    "expires": row.expires_at.isoformat(),
                    "last_use": row.last_used_at.isoformat() if row.last_used_at else None,
                    "state": state_of(row),
                }
                for row in tokens_of(user)
            ]
        }
