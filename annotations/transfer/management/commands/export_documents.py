from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.domain.formats import FORMATS
from annotations.gold.services.sets import LAYOUTS
from annotations.models import User
from annotations.transfer.selectors.losses import named_losses
from annotations.transfer.services.exporting import export_to_path


class Command(JourneyCommand):
    help = (
        "Export annotation sets to a new or empty folder, or to a .zip; says span by span what the format can't hold."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("out", metavar="OUT", type=Path)
        parser.add_argument("--format", required=True, choices=list(FORMATS))
        parser.add_argument(
            "--set", required=True, metavar="WHICH", help="gold[:VERSION], annotator:NAME, run:NAME_OR_ID"
        )

        parser.add_argument(
            "--split", default="", choices=["", *LAYOUTS], help="of a split version: a folder per side, or one side"
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        report = export_to_path(
            project=project,
            out=options["out"].absolute(),
            format=options["format"],
            set_spec=options["set"],
            split=options["split"],
            actor=actor,
        )
        return report | {"losses": named_losses(project, report["losses"])}

    def say(self, result: dict[str, Any]) -> str:
        lines = [f"{result['notes']} notes, {result['spans']} spans of {result['set']} written as {result['format']}"]
        if result["drafts_left_out"]:
            lines.append(f"{result['drafts_left_out']} drafts were left out")
        lines += [
            f"not held: {loss['note']} [{loss['start']}, {loss['end']}) {loss['label']}: {loss['reason']}"
            for loss in result["losses"]
        ]
        return "\n".join(lines)
