from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, authors_shown, find_project
from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.models import User
from annotations.scores.selectors import LEVELS, note_languages
from models_runtime.runs.services.comparing import compared_strategies


class Command(JourneyCommand):
    help = "Compare runs of trained models by language strategy (EN, IT, MIX, EN→IT), on notes that none learned from."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")
        parser.add_argument("--split", default="", choices=["", *Split], help="Only these notes of a version's split.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, language = find_project(options["project"]), options["language"]
        version = project.gold_versions.filter(number=options["gold"]).first()
        if version is None:
            raise ServiceError(f"There is no gold version {options['gold']}. Freeze one first.", code="version")
        if language and language not in (languages := note_languages(project)):
            raise ServiceError(
                f"This project has no notes in “{language}”. Its languages: {', '.join(languages) or 'unknown'}.",
                code="language",
            )
        found = compared_strategies(
            project, version, language=language, split=options["split"], among=authors_shown(actor, project)
        )
        if not found.rows:
            raise ServiceError(
                "There is nothing to compare: no note is annotated by a run of every trained model, in this language "
                "and split, without a model having learned from it. Run the models on the held-out notes.",
                code="notes",
            )
        names = [f"{unit}_{granularity}" for unit, granularity in LEVELS]
        return {
            "project": project.slug,
            "gold": version.number,
            "language": language or None,
            "split": options["split"] or None,
            "notes": found.notes,
            "rows": [
                {"run": row.run, "model": row.model, "kind": row.kind, "strategy": row.strategy}
                | {name: cell.value for name, cell in zip(names, row.cells, strict=True)}
                | {"best": [name for name, cell in zip(names, row.cells, strict=True) if cell.best]}
                for row in found.rows
            ],
        }

    def say(self, result: dict[str, Any]) -> str:
        names = [f"{unit}_{granularity}" for unit, granularity in LEVELS]
        place = f" in {result['language']}" if result["language"] else ""
        lines = [f"F1 on {result['notes']} notes{place} from which no model learned. * marks the best."]
        lines.append(f"{'Model':20}{'Strategy':12}" + "".join(f"{name:>22}" for name in names))
        for row in result["rows"]:
            cells = (f"{_shown(row[name])}{'*' if name in row['best'] else ' '}" for name in names)
            lines.append(f"{row['model'][:19]:20}{row['strategy'][:11]:12}" + "".join(f"{cell:>22}" for cell in cells))
        return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
