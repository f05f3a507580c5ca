from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import Project, User
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.services.backup_list import backups_before_erasing
from annotations.ops.services.erasing import erase_patient, erasure_preview


class Command(JourneyCommand):
    help = "Erase one patient's notes with everything made of them. Counts first; acts only with --yes."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("patient", metavar="PATIENT_ID")
        parser.add_argument("--preview", action="store_true")
        parser.add_argument("--yes", action="store_true", help="do it: there is no way back")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        preview = erasure_preview(project=project, patient_id=options["patient"])
        if options["preview"]:
            return preview | {"erased": False} | self._left(project)
        if not options["yes"]:
            raise ServiceError(
                f"this erases {preview['notes']} notes and can't be undone: repeat with --yes", code="confirm"
            )
        erased = erase_patient(project=project, patient_id=options["patient"], actor=actor)
        return erased | {"erased": True} | self._left(project)

    def _left(self, project: Project) -> dict[str, Any]:
        """What an erasure leaves for people to look at: by kind and address, and backups by file."""
        texts = [text.as_dict() for text in free_texts(project)]
        return {"free_texts": texts, "backups": backups_before_erasing(project)}

    def say(self, result: dict[str, Any]) -> str:
        word = "erased" if result["erased"] else "would be erased"
        said = f"{result['notes']} notes with {result['annotation_sets']} annotation sets {word}"
        if result["models"]:
            said += (
                f"\n{result['models']} trained models of this project may hold words of these notes: retire them, "
                "which deletes their weights, and train anew"
            )
        if result["free_texts"]:
            said += "\nThese free texts may name the patient. Check them:"
        for text in result["free_texts"]:
            said += f"\n  {text['what']} ({text['count']}): {text['url']}"
        if result["backups"]:
            said += "\nThese backups in the data folder were made before a patient was erased here. Delete them:"
        for backup in result["backups"]:
            said += f"\n  {backup['file']} ({backup['created']})"
        return said
