import uuid
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.jobs.waiting import wait_for
from annotations.models import Job, JobState, User
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.training_settings import key_values
from models_runtime.training.services.embeddings import names_in
from models_runtime.training.services.groups import ablation, group_of, start_group

KINDS = [key for key, kind in TRAINABLE.items() if kind.stacked]
LEVELS = [
    f"{unit} {granularity}" for unit in ("entity", "token") for granularity in ("subcategory", "category", "binary")
]


class Command(JourneyCommand):
    help = (
        "Train a BiLSTM-CRF with stacked embeddings complete, and without each of its parts, and print the F1 on the "
        "hold-out for each (Catelli 2021, figures 4.3 and 4.4, table 4.18). Waits for the end."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")
        parser.add_argument("--backend", default=KINDS[0], choices=KINDS, help="Type of model.")
        parser.add_argument("--algorithm", default="", metavar="NAME", help="Default: the first one of the type.")
        parser.add_argument("--iterations", type=int, metavar="N", help="Maximum number of epochs.")
        parser.add_argument("--grouping", type=int, default=0, metavar="N", help="Sentences per sequence.")
        parser.add_argument(
            "--groupings", default="", metavar="N,N", help="Also train with these sentences per sequence (table 4.1)."
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="A setting of all trainings, as of train_model. With embeddings=A,B, each is left out once.",
        )
        parser.add_argument("--language", default="", metavar="CODE", help="Train only on notes in this language.")
        parser.add_argument("--runs", type=int, default=1, metavar="N", help="Trainings of each, with different seeds.")
        parser.add_argument("--name", default="ablation", help="Names of the models begin with this.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        settings = key_values(options["set"])
        models = start_group(
            project=find_project(options["project"]),
            gold=options["gold"],
            actor=actor,
            key=uuid.uuid4().hex,
            name=options["name"],
            runs=options["runs"],
            variants=ablation(names_in(settings.get("embeddings", "")), _groupings(options["groupings"])),
            backend=options["backend"],
            settings=settings,
            **{word: options[word] for word in ("algorithm", "iterations", "grouping", "language")},
        )
        for model in models:
            job = Job.objects.get(trained_model=model)
            wait_for(job, tell=None if options["json"] else self.stderr)
            if job.state != JobState.DONE:
                raise ServiceError(
                    f"The training of “{model.name}” is not complete. {job.get_state_display()}: {job.error}",
                    code="train",
                )
        models[0].refresh_from_db()
        return {"project": models[0].project.slug, "variants": [row.as_dict() for row in group_of(models[0])]}

    def say(self, result: dict[str, Any]) -> str:
        head = f"{'F1 on the hold-out':32}" + "".join(f"{level:>22}" for level in LEVELS)
        return "\n".join([head, *map(_line, result["variants"])])


def _groupings(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise ServiceError(
            "--groupings takes whole numbers with commas, such as 1,2,4,8,16,32.", code="groupings"
        ) from None


def _line(row: dict[str, Any]) -> str:
    return f"{row['variant']:32}" + "".join(f"{shown(row['f1'].get(level)):>22}" for level in LEVELS)


def shown(figure: dict[str, Any] | None) -> str:
    """A mean with its deviation, if there is one."""
    if figure is None:
        return "–"
    return f"{figure['mean']:.4f}" + (f" ± {figure['deviation']:.4f}" if figure["deviation"] is not None else "")
