from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, check_own, find_user
from annotations.models import User
from annotations.projects.selectors.members import line_of, tokens_of


class Command(JourneyCommand):
    help = "List the API tokens of a person."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of the person.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        check_own(actor, user)
        lines = [line_of(row) for row in tokens_of(user)]
        return {
            "tokens": [
                {
                    "id": line.row.pk,
                    "name": line.row.name,
                    "prefix": line.row.prefix,
                    "scope": line.row.scope,
                    "project": line.row.project.slug if line.row.project else None,
                    "expires": line.row.expires_at.isoformat(),
                    "last_use": line.row.last_used_at.isoformat() if line.row.last_used_at else None,
                    "state": line.state,
                }
                for line in lines
            ]
        }

    def say(self, result: dict[str, Any]) -> str:
        lines = [
            f"{one['id']}  {one['prefix']}…  {one['scope']}  {one['project'] or 'all projects'}  "
            f"until {one['expires'][:10]}  {one['state']}  {one['name']}"
            for one in result["tokens"]
        ]
        return "\n".join(lines) or "This person has no tokens."
