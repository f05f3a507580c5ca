from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import JobState, Project, User
from annotations.pairs.rules.alignment import WINDOW, AlignmentMethod
from annotations.pairs.services.pile import packed_pile
from annotations.pairs.services.starting import PairingOrder, start_pairing


class Command(ProjectCommand):
    help = "Import clear decisions, find their published versions, and label what these hide. Waits for the end."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        about = "Folder or zip of text files, or Parquet with id, file_name and text."
        parser.add_argument("pile", type=Path, metavar="PILE", help=about)
        about = "Method of the alignment. Default: diff."
        parser.add_argument("--method", choices=list(AlignmentMethod), default=AlignmentMethod.DIFF, help=about)
        about = "Tokens that the method window looks ahead, and that confidences look around."
        parser.add_argument("--window", type=int, default=WINDOW, metavar="TOKENS", help=about)
        about = "Least Jaccard similarity of an average decision and its published version, from 0.3 to 1."
        parser.add_argument("--threshold", type=float, default=0.95, metavar="SHARE", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        order = PairingOrder(options["method"], options["window"], options["threshold"])
        path: Path = options["pile"]
        with packed_pile(path) as content:
            job = start_pairing(project=project, name=path.name, content=content, order=order, actor=actor)
        wait_for(job, tell=None if options["json"] else self.stderr)
        if job.state != JobState.DONE:
            message = f"The decisions are not paired completely. {job.get_state_display()}: {job.error}"
            raise ServiceError(message, code="pairs")
        result: dict[str, Any] = job.result
        return result
