from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.domain.formats import FORMATS
from annotations.models import User
from annotations.transfer.services.importing import import_path


class Command(JourneyCommand):
    help = (
        "Import a folder, a file or a zip of notes. A note is taken whole or refused whole; the report says why. "
        "Exit status 1 when nothing could be taken."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--format", required=True, choices=list(FORMATS))
        parser.add_argument(
            "--as", dest="written_as", default="", metavar="WHO", help="gold, annotator:NAME or run:NAME"
        )
        parser.add_argument("--language", default="", help="of these notes, e.g. es")
        parser.add_argument("--patients", type=Path, help="CSV with the columns name and patient_id")
        parser.add_argument(
            "--take-duplicates", action="store_true", help="take a text that is there under another name"
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        report = import_path(
            project=find_project(options["project"]),
            path=options["path"],
            format=options["format"],
            written_as=options["written_as"],
            language=options["language"],
            patients=options["patients"],
            take_duplicates=options["take_duplicates"],
            actor=actor,
        )
        taken = report["notes"] + report["sets"] + report["already_there"]
        if not taken:
            report["failed"] = f"nothing was imported; refused: {report['refused_notes']}"
        return report

    def say(self, result: dict[str, Any]) -> str:
        lines = [
            f"{result['notes']} notes, {result['sets']} annotation sets, {result['spans']} spans imported; "
            f"{result['already_there']} were there already; {result['refused_notes']} refused"
        ]
        for kind in ("refused", "warnings"):
            for row in result[kind]:
                line = f", line {row['line']}" if row["line"] else ""
                lines.append(f"{kind.removesuffix('s')}: {row['file']}{line}: {row['message']}")
            if result[f"{kind}_more"]:
                lines.append(f"{kind.removesuffix('s')}: and {result[f'{kind}_more']} more")
        return "\n".join(lines)
