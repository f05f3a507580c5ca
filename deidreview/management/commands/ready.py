from typing import Any

from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.models import User
from deidreview.views import Health


class Command(JourneyCommand):
    help = "Check the database, its migrations, Redis and the workers. Exit status 1 if the app can't serve people."
    needs = RequiredStanding.SIGN_IN
    requires_system_checks: list[str] = []

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        health = Health()
        return health.as_dict() | ({} if health.ready else {"failed": " ".join(health.problems)})

    def say(self, result: dict[str, Any]) -> str:
        states = ", ".join(f"{part} {state}" for part, state in result["checks"].items())
        return "\n".join([f"{result['status'].capitalize()}: {states}.", *result["warnings"]])
