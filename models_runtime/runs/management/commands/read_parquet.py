from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project, progress_bar
from annotations.models import User
from models_runtime.runs.services.bulk_reading import read_parquet


class Command(JourneyCommand):
    help = (
        "Read notes in Parquet files with a model, in several processes, and write the spans to a folder of Parquet "
        "files. The notes are not stored. A command that was killed goes on if it is given again."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="The project whose model or labels are used.")
        parser.add_argument("model", metavar="MODEL", help="A backend, or a trained model (its name or model:ID).")
        parser.add_argument("source", metavar="SOURCE", type=Path, help="A Parquet file, or a folder of such files.")
        parser.add_argument("target", metavar="TARGET", type=Path, help="The folder for the spans.")
        parser.add_argument("--id", default="id", metavar="COLUMN", help="Column with the id of a note. Default: id.")
        parser.add_argument("--text", default="text", metavar="COLUMN", help="Column with its text. Default: text.")
        parser.add_argument("--threshold", type=float, metavar="P", help="Masking threshold, as for run_model.")
        parser.add_argument("--processes", type=int, metavar="N", help="Number of processes. Default: one per core.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        given = {name: options[name] for name in ("model", "source", "target", "threshold", "processes")}
        given |= {"id_column": options["id"], "text_column": options["text"]}
        with progress_bar("Reading notes") as progress:
            project = find_project(options["project"])
            outcome = read_parquet(project=project, actor=actor, progress=progress, **given)
        return outcome.as_dict() | {"target": str(options["target"])}
