from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.audio.rules.intervals import MARGIN
from annotations.audio.rules.recognizers import POCKETSPHINX
from annotations.audio.services.starting import read_file, start_recording
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.jobs.waiting import end
from annotations.models import Project, User


class Command(ProjectCommand):
    help = "Recognize the words of a recording; the transcript becomes a note. Waits for the end."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="WAV, FLAC, MP3 or OGG.")
        about = "pocketsphinx (English), or faster-whisper:FOLDER with a folder of weights. Default: pocketsphinx."
        parser.add_argument("--recognizer", default=POCKETSPHINX, metavar="NAME", help=about)
        parser.add_argument("--patient", default="", metavar="ID", help="Patient ID of the note.")
        about = "Milliseconds that are muted before and after words. Default: 200."
        parser.add_argument("--margin", type=int, default=int(MARGIN * 1000), metavar="MS", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        path = options["file"]
        with read_file(path) as content:
            job = start_recording(
                project=project, name=path.name, content=content, actor=actor, recognizer=options["recognizer"],
                patient=options["patient"], margin=options["margin"] / 1000,
            )  # fmt: skip
        end(job, "The transcript", code="speech", tell=None if options["json"] else self.stderr)
        result: dict[str, Any] = job.result
        return result
