from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, find_user
from annotations.models import Project, User
from annotations.projects.services.members import removal_preview, remove_member


class Command(ProjectCommand):
    help = "Remove a member from a project. All annotations are kept."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of a member.")
        parser.add_argument("--hand-over-to", metavar="USER", help="Annotator who gets the open notes.")
        parser.add_argument("--preview", action="store_true", help="Only count what a removal affects; change nothing.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        if options["preview"]:
            return removal_preview(project=project, user=user) | {"preview": True}
        heir = find_user(options["hand_over_to"]) if options["hand_over_to"] else None
        return remove_member(project=project, user=user, actor=actor, hand_over_to=heir) | {"preview": False}
