from typing import Any

from django.core.management.base import CommandParser

from annotations.core.api.tokens import revoke_token
from annotations.core.commands import JourneyCommand, check_own
from annotations.core.services import ServiceError
from annotations.models import ApiToken, User
from annotations.projects.selectors.members import state_of


class Command(JourneyCommand):
    help = "Revoke an API token, so that it gives no access any more."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "token", metavar="ID", type=int, help="Number of the token, as the command tokens lists it."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        row = ApiToken.objects.select_related("user").filter(pk=options["token"]).first()
        if row is None:
            raise ServiceError(f"There is no token {options['token']}. List tokens with: tokens USER", code="token")
        check_own(actor, row.user)
        revoke_token(token=row, actor=actor)
        row.refresh_from_db()
        return {"id": row.pk, "state": state_of(row)}
