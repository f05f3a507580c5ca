from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.release.selectors.releases import release_numbered
from annotations.release.services.withdrawing import withdraw


class Command(JourneyCommand):
    help = (
        "Withdraw a release: its stored exports are deleted, and it can't be exported or signed again. What recipients "
        "have remains with them, and its certificate can still be verified. Nobody can undo this."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("release", metavar="NUMBER", type=int, help="Number of the release.")
        parser.add_argument("--yes", action="store_true", help="Withdraw it; without this option nothing is changed.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        release = release_numbered(project, options["release"])
        if not options["yes"]:
            raise ServiceError(
                f"Nobody can undo the withdrawal of release {release.number}. Repeat the command with --yes.",
                code="confirm",
            )
        release = withdraw(release=release, actor=actor)
        return {"release": release.number, "state": release.state}

    def say(self, result: dict[str, Any]) -> str:
        return f"Release {result['release']} is withdrawn."
