import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, add_fields
from annotations.core.services import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, Project, User
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.training_settings import key_values
from models_runtime.models import TrainedModel
from models_runtime.training.forms import TrainForm
from models_runtime.training.services.groups import group_of, start_group
from models_runtime.training.services.model_cards import summary

# Options that are fields of the form of the page.
TEXTS = ("base", "language", "self_training", "silver", "name")
NUMBERS = ("iterations", "adapt", "grouping", "runs")
SWITCHES = ("refit", "random_splits")
ALGORITHMS = [name for kind in TRAINABLE.values() for name in kind.algorithms]


def _kind_of(algorithm: str) -> str:
    """Return the kind that has the algorithm, or the default kind, whose error message then lists the choices."""
    kinds = [key for key, kind in TRAINABLE.items() if algorithm in kind.algorithms]
    if len(kinds) > 1:
        raise ServiceError(
            f"Several types of model have the algorithm “{algorithm}”. Add --backend {' or --backend '.join(kinds)}.",
            code="backend",
        )
    return kinds[0] if kinds else next(iter(TRAINABLE))


def _settings_help() -> str:
    rows = [(key, ", ".join(setting.key for setting in kind.settings)) for key, kind in TRAINABLE.items()]
    named = [f"Settings of {key}: {names}." for key, names in rows if names]
    return " ".join(["A setting of the type of model. May be repeated.", *named])


class Command(ProjectCommand):
    help = "Train a model on a gold version. With --wait, wait for the end, and train here if there is no worker."
    needs = Can.MANAGE
    json_only = ("epochs", "held_out_losses", "labels", "levels", "thresholds")

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument(
            "--backend", default="", choices=TRAINABLE, help="Type of model. Default: that of the algorithm."
        )
        parser.add_argument("--algorithm", default="", metavar="NAME", help=f"One of {', '.join(ALGORITHMS)}.")
        parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=_settings_help())
        parser.add_argument(
            "--also",
            action="append",
            default=[],
            metavar="PROJECT:N",
            help="Also train on gold version N of another project, which --by must manage. May be repeated.",
        )
        add_fields(parser, TrainForm, (*TEXTS, *NUMBERS, *SWITCHES))
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        given: dict[str, Any] = {word: options[word] or 0 for word in ("adapt", "grouping")}
        given |= {word: options[word] or "" for word in TEXTS} | {word: options[word] for word in SWITCHES}
        models = start_group(
            project=project,
            gold=options["gold"],
            actor=actor,
            key=uuid.uuid4().hex,
            backend=options["backend"] or _kind_of(options["algorithm"]),
            algorithm=options["algorithm"],
            settings=key_values(options["set"]),
            also=options["also"],
            iterations=options["iterations"],
            runs=1 if options["runs"] is None else options["runs"],
            **given,
        )
        summaries = [self._waited(model, options) for model in models]
        if len(models) == 1:
            return summaries[0]
        (figures,) = group_of(models[0])
        found = figures.as_dict()
        return {"models": summaries, "f1": found["f1"], "random_splits": found["random_splits"]}

    def _waited(self, model: TrainedModel, options: dict[str, Any]) -> dict[str, Any]:
        """Wait for the training, if asked to, and return its summary. Raises ServiceError if it failed."""
        job = Job.objects.get(trained_model=model)
        if options["wait"]:
            wait_for(job, tell=None if options["json"] else self.stderr)
            model.refresh_from_db()
        if job.state in (JobState.FAILED, JobState.CANCELED):
            raise ServiceError(
                f"The training of “{model.name}” is not complete. {job.get_state_display()}: {job.error}", code="train"
            )
        # Not in the list of models: words of the probe may come from notes.
        return summary(model) | {"job": job.number, "probe": model.card.get("probe", [])}
