from typing import Any

from django.core.management.base import CommandParser

from annotations.core.api.tokens import create_token
from annotations.core.commands import JourneyCommand, check_own, find_project, find_user
from annotations.models import ApiToken, User


class Command(JourneyCommand):
    help = "Create an API token of a person. The token is printed only here, and only its hash is stored."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of the person for whom the token acts.")
        parser.add_argument("name", metavar="NAME", help="What the token is for.")
        parser.add_argument("--scope", choices=ApiToken.Scope.values, default=ApiToken.Scope.READ.value)
        parser.add_argument("--project", metavar="PROJECT", help="The only project that the token reaches.")
        parser.add_argument("--days", type=int, default=90, help="How many days the token is valid. Default: 90.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"]) if options["project"] else None
        user = find_user(options["user"])
        check_own(actor, user)
        row, secret = create_token(
            user=user, name=options["name"], scope=options["scope"], days=options["days"],
            project=project, actor=actor
        )  # fmt: skip
        return {"id": row.pk, "token": secret, "scope": row.scope, "expires": row.expires_at.isoformat()}
