from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from annotations.projects.services.projects import archive_project, restore_project


class Command(ProjectCommand):
    help = "Archive a project, which makes it read-only for everyone, or restore it."
    needs = Can.ARCHIVE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--restore", action="store_true", help="Restore the project from the archive.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        change = restore_project if options["restore"] else archive_project
        changed = change(project=project, actor=actor)
        return {"project": project.slug, "archived": not options["restore"], "changed": changed}
