from typing import Any

from django.core.management.base import CommandParser

from annotations.management.journey import JourneyCommand, find_project
from annotations.models import User
from models_runtime.models import TrainedModel
from models_runtime.services.model_cards import summary


class Command(JourneyCommand):
    help = "The trained models of a project, newest first, with the scores on their held-out notes."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        rows = TrainedModel.objects.filter(project=project).select_related("gold_version", "project")
        return {"project": project.slug, "models": [summary(row) for row in rows]}

    def say(self, result: dict[str, Any]) -> str:
        if not result["models"]:
            return "no models yet: train one with train_model PROJECT --gold N"
        return "\n".join(
            f"{row['model']:24} {row['state']:10} {row['backend']:5} "
            + (f"F1 {row['f1']:.4f}" if row["f1"] is not None else "F1 unknown")
            + (f"  {row['trouble']}" if row["trouble"] else "")
            for row in result["models"]
        )
