from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import Project, User
from annotations.ops.selectors.free_texts import weights_elsewhere
from annotations.ops.services.backup import backups_of
from annotations.ops.services.deleting import delete_project, deletion_preview


class Command(ProjectCommand):
    help = "Delete an archived project with everything in it. Nothing is deleted without its name in --name."
    needs = Can.ARCHIVE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--preview", action="store_true", help="Only count what would be deleted.")
        parser.add_argument("--name", help="The name of the project, as a confirmation. A deletion can't be undone.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        kept = {"backups": backups_of(project), "models_elsewhere": weights_elsewhere(project)}
        if options["preview"]:
            return dict(deletion_preview(project)) | {"deleted": False} | kept
        if options["name"] is None:
            notes = deletion_preview(project)["notes"]
            raise ServiceError(
                f"This would delete {notes} notes, and can't be undone. Repeat the command with --name and the "
                "project's name.",
                code="confirm",
            )
        counts = delete_project(project=project, name=options["name"], actor=actor, seconds=None)
        return dict(counts) | {"deleted": True} | kept

    def say(self, result: dict[str, Any]) -> str:
        done = "Deleted" if result["deleted"] else "This would delete"
        lines = [
            f"{done} {result['notes']} notes, {result['annotation_sets']} annotation sets, "
            f"{result['gold_versions']} gold versions, {result['models']} trained models, "
            f"and {result['files']} uploads and exports."
        ]
        if result["models_elsewhere"]:
            lines.append("These models of other projects learned from its gold and are kept. Retire them:")
        lines += [f"  {one.model} in {one.project}: {one.url}" for one in result["models_elsewhere"]]
        if result["backups"]:
            lines.append("These backups in the data folder may contain the project. Delete them:")
        lines += [f"  {one.file} ({one.created.isoformat()})" for one in result["backups"]]
        return "\n".join(lines)
