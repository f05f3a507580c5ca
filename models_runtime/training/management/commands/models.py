from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import Needs, ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import Project, User
from annotations.scores.rules.intervals import with_interval
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.training.services.model_cards import summary
from models_runtime.training.services.trained import model_named, rename_model, retire_model, upload_model, write_model
from models_runtime.training.services.training import end_early


class Command(ProjectCommand):
    help = (
        "List the trained models of a project, newest first, with scores on the hold-out. "
        "With an option: upload, download, rename, retire or complete a model. MODEL is a name or model:ID."
    )

    def arguments(self, parser: CommandParser) -> None:
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--upload", type=Path, metavar="FILE", help="Upload a model file that deidreview wrote.")
        act.add_argument(
            "--download", metavar="MODEL", help="Write the model to the file --to. The file contains words of notes."
        )
        act.add_argument("--rename", metavar="MODEL", help="Rename the model to --name.")
        act.add_argument(
            "--retire",
            metavar="MODEL",
            help="Retire the model and delete its weights. Only a downloaded copy can restore it.",
        )
        act.add_argument(
            "--end-early", metavar="MODEL", help="End a training after its complete epochs so far, and keep the model."
        )
        parser.add_argument("--to", type=Path, metavar="FILE", help="File for --download. It must not exist yet.")
        parser.add_argument("--name", default="", help="Name for --upload or --rename.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        if any(options[act] for act in ("upload", "rename", "retire", "end_early")):
            return Can.MANAGE
        return Can.EXPORT if options["download"] else Can.READ_NOTES

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        changed = self._changed(project, actor, options)
        if changed is not None:
            return {"project": project.slug, "models": [summary(changed)]}
        rows = TrainedModel.objects.filter(project=project).select_related("gold_version", "project")
        return {"project": project.slug, "models": [summary(row) for row in rows]}

    def _changed(self, project: Project, actor: User | None, options: dict[str, Any]) -> TrainedModel | None:
        """Carry out the action of the options and return its model, or None if there is no action."""
        name, to = options["name"], options["to"]
        if name and not (options["upload"] or options["rename"]):
            raise ServiceError("--name can only be used with --upload or --rename.", code="name")
        if (to is None) != (options["download"] is None):
            raise ServiceError("--download MODEL and --to FILE must be used together.", code="to")
        if options["upload"]:
            return _uploaded(project, options["upload"], name, actor)
        if options["download"]:
            return write_model(model=model_named(project, options["download"]), path=to, actor=actor)
        if options["rename"]:
            return rename_model(model=model_named(project, options["rename"]), name=name, actor=actor)
        if options["end_early"]:
            return end_early(model=model_named(project, options["end_early"]))
        if options["retire"]:
            return retire_model(model=model_named(project, options["retire"]), actor=actor)
        return None

    def say(self, result: dict[str, Any]) -> str:
        if not result["models"]:
            return "No models yet. Train a model with train_model PROJECT --gold N."
        return "\n".join(
            f"{row['model']:24} {TrainedModelState(row['state']).label:11} {row['backend']:5} "
            + _measured(row)
            + (f"  {row['trouble']}" if row["trouble"] else "")
            for row in result["models"]
        )


def _measured(row: dict[str, Any]) -> str:
    if row["perplexity"] is not None:
        return f"perplexity {row['perplexity']:.2f}"
    return with_interval(row["f1"], row["few_notes"]) if row["f1"] is not None else "F1 unknown"


def _uploaded(project: Project, path: Path, name: str, actor: User | None) -> TrainedModel:
    try:
        with path.open("rb") as content:
            return upload_model(project=project, content=content, actor=actor, name=name).model
    except OSError as error:
        raise ServiceError(f"{path} can't be read ({error.strerror}).", code="file") from None
