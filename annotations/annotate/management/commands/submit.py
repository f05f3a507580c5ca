from typing import Any

from django.core.management.base import CommandParser

from annotations.annotate.services.annotation_set import hand_in, reopen
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, entered, find_note
from annotations.core.services import ServiceError
from annotations.models import Project, User


class Command(ProjectCommand):
    help = (
        "Submit a person's own annotations of notes, or reopen them. Without spans, submitting says that the note has "
        "nothing to annotate. --by must name the annotator."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("notes", metavar="NOTE", nargs="+", help="Name of a note that the person may open.")
        parser.add_argument("--reopen", action="store_true", help="Make submitted annotations drafts again.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, project, Can.ANNOTATE)
        notes: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        for name in options["notes"]:
            try:
                note = find_note(access, name)
                status = (
                    reopen(document=note, user=access.user) if options["reopen"] else hand_in(access=access, note=note)
                )
            except ServiceError as error:
                refused.append({"note": name, "error": str(error), "code": error.code})
            else:
                notes.append({"note": name, "version": status.version, "state": status.state})
        result: dict[str, Any] = {"annotator": access.user.username, "notes": notes, "refused": refused}
        if refused:
            result["failed"] = "\n".join(f"{each['note']}: {each['error']}" for each in refused)
        return result

    def say(self, result: dict[str, Any]) -> str:
        return "\n".join(f"{each['note']}: {each['state']}, version {each['version']}." for each in result["notes"])
