from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import Project, User
from annotations.ops.selectors.free_texts import free_texts, weights_elsewhere
from annotations.ops.services.backup import backups_before_erasing
from annotations.ops.services.erasing import erase_patient, erasure_preview


class Command(ProjectCommand):
    help = "Erase one patient's notes and everything derived from them. Nothing is erased without --yes."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("patient", metavar="PATIENT_ID")
        parser.add_argument("--preview", action="store_true", help="Only count what would be erased.")
        parser.add_argument("--yes", action="store_true", help="Erase. An erasure can't be undone.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        preview = erasure_preview(project=project, patient_id=options["patient"])
        if options["preview"]:
            return preview | {"erased": False} | self._to_check(project)
        if not options["yes"]:
            raise ServiceError(
                f"This would erase {preview['notes']} notes, and can't be undone. Repeat the command with --yes.",
                code="confirm",
            )
        erased = erase_patient(project=project, patient_id=options["patient"], actor=actor)
        return erased | {"erased": True} | self._to_check(project)

    def _to_check(self, project: Project) -> dict[str, Any]:
        """Return what an erasure leaves for a person to check: free texts, models of other projects, backup files."""
        return {
            "free_texts": free_texts(project),
            "models_elsewhere": weights_elsewhere(project),
            "backups": backups_before_erasing(project),
        }

    def say(self, result: dict[str, Any]) -> str:
        counts = f"{result['notes']} notes with {result['annotation_sets']} annotation sets"
        lines = [f"Erased {counts}." if result["erased"] else f"This would erase {counts}."]
        if result["models"]:
            lines.append(
                f"{result['models']} trained models may contain words of these notes. "
                "Retire them to delete their weights, then train again."
            )
        if result["copies"]:
            lines.append(
                f"{result['copies']} notes of other projects have the same text. Erase the patient there, too."
            )
        if result["models_elsewhere"]:
            lines.append("Of these models, the following are in other projects, which trained on this project's gold:")
        lines += [f"  {one.model} in {one.project}: {one.url}" for one in result["models_elsewhere"]]
        if result["free_texts"]:
            lines.append("These free texts may name the patient. Check them:")
        lines += [f"  {text.what} ({text.count}): {text.url}" for text in result["free_texts"]]
        if result["backups"]:
            lines.append("These backups in the data folder were made before the last erasure. Delete them:")
        lines += [f"  {one.file} ({one.created.isoformat()})" for one in result["backups"]]
        return "\n".join(lines)
