from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from annotations.services.erasing import erase_patient, erasure_preview
from annotations.services.errors import ServiceError


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
            return preview | {"erased": False}
        if not options["yes"]:
            raise ServiceError(
                f"this erases {preview['notes']} notes and can't be undone: repeat with --yes", code="confirm"
            )
        return erase_patient(project=project, patient_id=options["patient"], actor=actor) | {"erased": True}

    def say(self, result: dict[str, Any]) -> str:
        word = "erased" if result["erased"] else "would be erased"
        said = f"{result['notes']} notes with {result['annotation_sets']} annotation sets {word}"
        if result["models"]:
            said += (
                f"\n{result['models']} trained models of this project may hold words of these notes: retire them, "
                "which deletes their weights, and train anew"
            )
        return said
