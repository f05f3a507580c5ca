from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.domain.splits import Side
from annotations.models import User
from annotations.scores.services.side_by_side import common, side_by_side, together
from models_runtime.comparing.services import Row, figure_rows, label_rows, learned_here, pace_rows


class Command(JourneyCommand):
    help = "Runs (and people) side by side against gold, on the notes that all of them have read."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument(
            "--gold", type=int, default=0, metavar="N", help="a version's number; default: as it stands"
        )
        parser.add_argument(
            "--runs", required=True, metavar="A,B,…", help="2 to 6 names, by commas: NAME, run:NAME, annotator:NAME"
        )
        parser.add_argument("--split", default="", choices=["", *Side], help="only these notes of a version's split")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        names = [name.strip() for name in options["runs"].split(",") if name.strip()]
        wish = together(project, version=options["gold"], names=names, split=options["split"])
        notes = common(wish)
        table = side_by_side(wish, notes=notes)
        learned = learned_here(wish, notes.of[0].readings)
        readers = table["readers"]
        rows = figure_rows(table) + pace_rows(project, [reader["author_id"] for reader in readers])
        labels = label_rows(table)
        return {key: table[key] for key in ("project", "gold", "content_hash", "split", "notes")} | {
            "runs": [
                {"run": reader["author"], "kind": reader["kind"], "found_only_here": reader["only"]}
                | {"notes_learned_from": learned.get(reader["author_id"], 0)}
                | {row.key: row.cells[at].value for row in rows}
                | {"labels": {row.key: row.cells[at].value for row in labels}}
                for at, reader in enumerate(readers)
            ],
            "best": {row.key: _best(row, readers) for row in rows},
            "missed_by_all": table["missed_by_all"],
            "untouched": table["untouched"],
        }

    def say(self, result: dict[str, Any]) -> str:
        runs = result["runs"]
        lines = [
            f"{result['notes']} notes of gold {result['gold']}; * is the best",
            f"{'':22}" + "".join(f"{run['run'][:18]:>20}" for run in runs),
        ]
        for key, best in result["best"].items():
            cells = (f"{_shown(run[key])}{'*' if run['run'] in best else ' '}" for run in runs)
            lines.append(f"{key:22}" + "".join(f"{cell:>20}" for cell in cells))
        lines.append(
            f"gold spans missed by all: {result['missed_by_all']}; nobody marked any of it: {result['untouched']}"
        )
        lines += [f"found only by {run['run']}: {run['found_only_here']}" for run in runs]
        lines += [
            f"the model of {run['run']} learned from {run['notes_learned_from']} of the notes: its figures flatter"
            for run in runs
            if run["notes_learned_from"]
        ]
        return "\n".join(lines)


def _best(row: Row, readers: list[dict[str, Any]]) -> list[str]:
    return [reader["author"] for reader, cell in zip(readers, row.cells, strict=True) if cell.best]


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
