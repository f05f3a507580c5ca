from typing import Any

from annotations.core.commands import JourneyCommand
from annotations.models import User
from annotations.projects.services.providers.scim.errors import new_token


class Command(JourneyCommand):
    help = "Make a token by which a provider pushes accounts (SCIM), and its hash for the file of providers."

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        token, digest = new_token()
        return {"token": token, "hash": digest}
