from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import Document, User
from annotations.ops.selectors.kept_weights import weights_elsewhere
from annotations.ops.services.backup_list import backups_before_erasing
from annotations.ops.services.erasing import delete_note, note_preview


class Command(JourneyCommand):
    help = (
        "Delete one note and everything made from it, such as a note imported by mistake. Nothing is deleted without "
        "--yes. To delete all notes of a patient, use erase_patient."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("note", metavar="NOTE", help="Name of the note.")
        parser.add_argument("--preview", action="store_true", help="Only count what would be deleted.")
        parser.add_argument("--yes", action="store_true", help="Delete. A deletion can't be undone.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        name = options["note"]
        pk = Document.objects.filter(project=project, name=name).values_list("pk", flat=True).first()
        if pk is None:
            raise ServiceError(f"There is no note “{name[:80]}” in “{project.slug}”.", code="note")
        counts = note_preview(project=project, note=pk)
        if not options["preview"]:
            if not options["yes"]:
                raise ServiceError(
                    f"This would delete the note with {counts['annotation_sets']} annotation sets, and can't be "
                    "undone. Repeat the command with --yes.",
                    code="confirm",
                )
            counts = delete_note(project=project, note=pk, actor=actor)
        return {
            **counts,
            "deleted": not options["preview"],
            "models_elsewhere": [one.as_dict() for one in weights_elsewhere(project)],
            "backups": backups_before_erasing(project),
        }

    def say(self, result: dict[str, Any]) -> str:
        done = "Deleted" if result["deleted"] else "This would delete"
        lines = [f"{done} the note with {result['annotation_sets']} annotation sets."]
        if result["models"]:
            lines.append(
                f"{result['models']} trained models may contain its words. Retire them to delete their weights."
            )
        lines += [f"  {one['model']} in {one['project']}: {one['url']}" for one in result["models_elsewhere"]]
        if result["backups"]:
            lines.append("These backups in the data folder may contain the note. Delete them:")
        lines += [f"  {backup['file']} ({backup['created']})" for backup in result["backups"]]
        return "\n".join(lines)
