from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, RequiredStanding, add_several, find_project, progress_bar
from annotations.core.services import ServiceError
from annotations.exchange.services.importing import import_path
from annotations.exchange.services.input_formats import INPUT_FORMATS
from annotations.formats import DETECT
from annotations.formats.documents.texts import CleaningRule
from annotations.models import User
from annotations.ops.services.archives.reading import WHOLE, check_alone, import_from, is_whole

_OF_NOTES: Final = (
    *("map_label", "add_label", "skip_label", "mapping", "written_as", "language", "patients"),
    *("take_duplicates", "repair_offsets", "all_or_nothing", "encoding", "no_cleanup"),
)
"""The options that an archive doesn't need."""


class Command(JourneyCommand):
    help = (
        "Import notes from a folder, a file or a zip. A note is imported whole or refused whole, with the reason. "
        "Exit status 1 if nothing was imported."
    )

    def arguments(self, parser: CommandParser) -> None:
        about = "Short name of the project; with an archive, that of a new project."
        parser.add_argument("project", metavar="PROJECT", help=about)
        parser.add_argument("path", metavar="PATH", type=Path, help="Folder, file or zip with the notes.")
        about = (
            f"Format of the files: {', '.join((DETECT, *INPUT_FORMATS, WHOLE))}. Without it, the files decide. "
            "“gate:NAME” reads the annotation set NAME of GATE files."
        )
        parser.add_argument("--format", default=DETECT, metavar="FORMAT", help=about)
        mapped = "Import the spans of an unknown label with a label of the project."
        added = "Add an unknown label to the project, in a category or in the first one."
        add_several(parser, "--map-label", "NAME=LABEL", mapped)
        add_several(parser, "--add-label", "NAME[=CATEGORY]", added)
        add_several(parser, "--skip-label", "NAME", "Leave out the spans of an unknown label.")
        about = "Map unknown labels back by this label mapping of the project. The other label options win over it."
        parser.add_argument("--mapping", default="", metavar="NAME", help=about)
        about = "Author of the annotations: gold, annotator:NAME or run:NAME. Without it, only texts are imported."
        parser.add_argument("--as", dest="written_as", default="", metavar="AUTHOR", help=about)
        parser.add_argument("--language", default="", help="Language code of the notes, for example es.")
        parser.add_argument("--patients", type=Path, help="CSV with the columns name and patient_id.")
        about = "Also import texts that the project has under another name."
        parser.add_argument("--take-duplicates", action="store_true", help=about)
        about = (
            "Move a span to its quoted text if that text is nearby, in brat, i2b2, BioC and others that quote it. "
            "The report lists these spans."
        )
        parser.add_argument("--repair-offsets", action="store_true", help=about)

        about = "Import nothing if a note is refused, and name the first one."
        parser.add_argument("--all-or-nothing", action="store_true", help=about)
        about = "Encoding of the text in documents, for example cp1252. Default: detected."
        parser.add_argument("--encoding", default="", help=about)
        about = f"Read documents without a clean-up rule: {', '.join(CleaningRule)}. Repeatable."
        parser.add_argument(
            "--no-cleanup", action="append", default=[], choices=list(CleaningRule), metavar="RULE", help=about
        )

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return RequiredStanding.CREATE_PROJECTS if is_whole(options["path"], options["format"]) else Can.MANAGE

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        if is_whole(options["path"], options["format"]):
            check_alone(
                {f"--{'as' if name == 'written_as' else name.replace('_', '-')}": options[name] for name in _OF_NOTES}
            )
            return import_from(path=options["path"], slug=options["project"], actor=actor)
        try:
            report = _imported(actor, options)
        except ServiceError as error:
            if error.code == "open-labels":
                hint = "Use --map-label NAME=LABEL, --add-label NAME and --skip-label NAME, or --mapping."
                raise ServiceError(f"{error}\n{hint}", code=error.code) from error
            raise
        taken = report["notes"] + report["sets"] + report["already_there"]
        if not taken:
            report["failed"] = f"Nothing was imported. {_refused(report)}"
        return report


def _imported(actor: User | None, options: dict[str, Any]) -> dict[str, Any]:
    """Import the notes, and return the report."""
    project = find_project(options["project"])
    names = {"mapped": "map_label", "added": "add_label", "skipped": "skip_label", "mapping": "mapping"}
    labels = {name: options[option] for name, option in names.items()}
    given = {name: options[name] for name in ("path", "format", *_OF_NOTES) if name not in names.values()}
    with progress_bar("Importing") as progress:
        return import_path(progress=progress, project=project, actor=actor, labels=labels, **given)


def _refused(report: dict[str, Any]) -> str:
    return f"Refused: {report['refused_notes']} notes. Not read: {report['refused_files']} files."
