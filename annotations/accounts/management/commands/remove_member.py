from typing import Any

from django.core.management.base import CommandParser

from annotations.accounts.services import removal_preview, remove_member
from annotations.core.commands import JourneyCommand, find_project, find_user
from annotations.models import User


class Command(JourneyCommand):
    help = "Take somebody out of a project without losing their work. --preview only says what it would touch."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--hand-over-to", metavar="USER", help="an annotator who takes over the open notes")
        parser.add_argument("--preview", action="store_true")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, user = find_project(options["project"]), find_user(options["user"])
        if options["preview"]:
            return removal_preview(project=project, user=user) | {"preview": True}
        heir = find_user(options["hand_over_to"]) if options["hand_over_to"] else None
        return remove_member(project=project, user=user, actor=actor, hand_over_to=heir) | {"preview": False}

    def say(self, result: dict[str, Any]) -> str:
        word = "would be removed" if result["preview"] else "removed"
        return (
            f"{result['user']} {word}: {result['open_notes']} open notes, {result['drafts']} drafts (kept), "
            f"{result['submitted']} submitted readings (kept, they count on)"
        )
