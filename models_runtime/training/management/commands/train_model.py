import uuid
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.domain.scoring.intervals import with_interval
from annotations.jobs.waiting import wait_for
from annotations.models import Job, User
from models_runtime.core.registry import TRAINABLE
from models_runtime.models import TrainedModel
from models_runtime.training.services.model_cards import summary
from models_runtime.training.services.training import start_training

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


def _settings(words: Sequence[str]) -> dict[str, str]:
    """Read the values of --set. Raises ServiceError `set` for one without a key, and for a repeated key."""
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key or key in found:
            raise ServiceError(f"--set takes KEY=VALUE, each key once, not “{word}”.", code="set")
        found[key] = value
    return found


class Command(JourneyCommand):
    help = "Train a model on a gold version. With --wait, wait for the end, and train here if there is no worker."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument(
            "--backend", default="", choices=TRAINABLE, help="Type of model. Default: that of the algorithm."
        )
        parser.add_argument("--algorithm", default="", metavar="NAME", help=f"One of {', '.join(ALGORITHMS)}.")
        parser.add_argument(
            "--iterations", type=int, metavar="N", help="Maximum number of iterations. Default: that of the algorithm."
        )
        parser.add_argument(
            "--base",
            default="",
            metavar="NAME",
            help="Starting model of the same type; weights or a masked language model (transformer).",
        )
        parser.add_argument(
            "--adapt",
            type=int,
            default=0,
            metavar="N",
            help="Language pre-training epochs (transformer, BiLSTM-CRF).",
        )
        parser.add_argument(
            "--grouping", type=int, default=0, metavar="N", help="Sentences per sequence (BiLSTM-CRF, transformer)."
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help=_settings_help(),
        )
        parser.add_argument("--language", default="", metavar="CODE", help="Train only on notes in this language.")
        parser.add_argument("--name", default="", help="Name of the model, for run_model PROJECT NAME.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        model = start_training(
            project=find_project(options["project"]),
            gold=options["gold"],
            actor=actor,
            key=uuid.uuid4().hex,
            name=options["name"],
            backend=options["backend"] or _kind_of(options["algorithm"]),
            settings=_settings(options["set"]),
            **{word: options[word] for word in ("algorithm", "iterations", "base", "adapt", "grouping", "language")},
        )
        job = Job.objects.get(trained_model=model)
        if options["wait"]:
            wait_for(job, tell=None if options["json"] else self.stderr)
            model.refresh_from_db()
        if job.state in (Job.State.FAILED, Job.State.CANCELED):
            raise ServiceError(
                f"The training of “{model.name}” is not complete. {job.get_state_display()}: {job.error}", code="train"
            )
        # Not in the list of models: words of the probe may come from notes.
        return summary(model) | {"job": job.number, "probe": model.card.get("probe", [])}

    def say(self, result: dict[str, Any]) -> str:
        line = f"Model {result['model']} (job {result['job']}): {TrainedModel.State(result['state']).label}."
        if result["f1"] is not None:
            f1 = with_interval(result["f1"], result["few_notes"])
            line += f" Hold-out: {f1}, characters found {result['character_recall']:.4f}."
        if result["perplexity"] is not None:
            line += f" Hold-out: perplexity {result['perplexity']:.2f}."
        return line
