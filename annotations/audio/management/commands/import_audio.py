from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.audio.rules.intervals import MARGIN
from annotations.audio.services.starting import read_file, start_recording
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.jobs.waiting import end
from annotations.models import Project, User


class Command(ProjectCommand):
    help = "Import a recording with the times of its words: the transcript becomes a note. Waits for the end."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="WAV, FLAC, MP3 or OGG.")
        about = "Words with times: JSON, CTM, TextGrid or WebVTT."
        parser.add_argument("--words", type=Path, required=True, metavar="WORDS", help=about)
        parser.add_argument("--patient", default="", metavar="ID", help="Patient ID of the note.")
        about = "Milliseconds that are muted before and after words. Default: 200."
        parser.add_argument("--margin", type=int, default=int(MARGIN * 1000), metavar="MS", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        path, words = options["file"], options["words"]
        given = (words.name, read_file(words).read())
        with read_file(path) as content:
            job = start_recording(
                project=project, name=path.name, content=content, actor=actor, words=given, patient=options["patient"],
                margin=options["margin"] / 1000,
            )  # fmt: skip
        end(job, "The import", code="audio", tell=None if options["json"] else self.stderr)
        result: dict[str, Any] = job.result
        return result
