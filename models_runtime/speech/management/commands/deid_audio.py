from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.audio.rules.recognizers import POCKETSPHINX
from annotations.audio.services.starting import read_file
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from models_runtime.speech.services.deidentifying import deidentify


class Command(ProjectCommand):
    help = "De-identify a recording: write a muted copy, the masked transcript, and the intervals with their causes."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        about = "WAV, FLAC, MP3 or OGG. A recording that the project has already is not imported again."
        parser.add_argument("file", type=Path, metavar="FILE", help=about)
        about = "Words with times: JSON, CTM, TextGrid or WebVTT. Without, a recognizer finds them."
        parser.add_argument("--words", type=Path, metavar="WORDS", help=about)
        about = "pocketsphinx (English), or faster-whisper:FOLDER with a folder of weights. Default: pocketsphinx."
        parser.add_argument("--recognizer", default=POCKETSPHINX, metavar="NAME", help=about)
        chosen = parser.add_mutually_exclusive_group()
        about = "A run that covers the note; or a backend or trained model, which then reads it. Default: rules."
        chosen.add_argument("--run", default="rules", metavar="NAME", help=about)
        about = "Annotation set of the note, such as gold or annotator:anna."
        chosen.add_argument("--set", default="", metavar="SET", help=about)
        about = "Milliseconds that are muted before and after words. Default: 200."
        parser.add_argument("--margin", type=int, default=200, metavar="MS", help=about)
        parser.add_argument("--tone", action="store_true", help="A tone in place of silence.")
        parser.add_argument("--patient", default="", metavar="ID", help="Patient ID of the note.")
        about = "A new or empty folder, or a .zip. The files are named “recording”, whatever FILE is named."
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        words: Path | None = options["words"]
        given = None if words is None else (words.name, read_file(words).read())
        with read_file(options["file"]) as content:
            return deidentify(
                project=project, name=options["file"].name, content=content, words=given,
                recognizer=options["recognizer"], run=options["run"], set_spec=options["set"],
                margin=options["margin"] / 1000, tone=options["tone"], patient=options["patient"], out=options["out"],
                actor=actor, tell=None if options["json"] else self.stderr,
            )  # fmt: skip
