"""Trainings, asked for. The work itself is models_runtime.training.jobs.training."""

from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.jobs.services.queue import enqueue
from annotations.models import Document, GoldVersion, Job, Project, User, Verb
from models_runtime.core import weights
from models_runtime.core.gold_notes import languages_of
from models_runtime.core.model_names import free_name, good_model_name, taken
from models_runtime.core.registry import TRAINABLE, trainable_kind
from models_runtime.models import OF_MODEL, TrainedModel

DEFAULT = next(iter(TRAINABLE))
MOST_ITERATIONS = 1000
MOST_ADAPT = 100
# The sentence grouping factors that 002 tried.
MOST_GROUPED = 32


class Asked(TypedDict, total=False):
    """How a model is to learn; what is left out is the kind's own default.

    `base`: a folder of weights or one of the project's models of the kind, for a kind that begins with some. `adapt`:
    epochs on the notes' language first, labels aside. `grouping`: sentences that a kind reads as one. `language`: only
    notes in it, as 002's strategies want: a model of one language, of all, or of one after the other by `base`.
    """

    backend: str
    algorithm: str
    iterations: int | None
    base: str
    adapt: int
    grouping: int
    language: str


@dataclass(frozen=True)
class _Ask:
    backend: str = DEFAULT
    algorithm: str = ""
    iterations: int | None = None
    base: str = ""
    adapt: int = 0
    grouping: int = 0
    language: str = ""


def start_training(
    *,
    project: Project,
    gold: int,
    actor: User | None,
    key: str,
    name: str = "",
    **asked: Unpack[Asked],
) -> TrainedModel:
    """A model that learns from a frozen gold version: its row and its job in one transaction.

    The same `key` gives the same model: a double click is one training. Raises ServiceError for an unknown version,
    algorithm or base, a version without spans to learn from, or a name that is taken.
    """
    there = TrainedModel.objects.filter(project=project, job__key=f"train-{key}").first()
    if there is not None:
        return there
    ask = _Ask(**asked)
    backend = ask.backend
    params = _params(project, ask)
    version = _version(project, gold, params.get("language", ""))
    name = good_model_name(name) if name.strip() else ""
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            row = TrainedModel.objects.create(
                project=project,
                name=name or free_name(project, backend),
                backend=backend,
                params=params,
                gold_version=version,
                created_by=actor,
            )
            newest = Document.objects.filter(project=project).aggregate(newest=Max("pk"))["newest"] or 0
            row.job = enqueue(
                kind="train",
                project=project,
                params={"model_id": row.pk, "newest": newest},
                key=f"train-{key}",
                actor=actor,
                queue=trainable_kind(backend).queue,
            )
            row.save(update_fields=["job"])
            record(
                verb=Verb.MODEL_TRAINED,
                actor=actor,
                project_id=project.pk,
                data={"model": row.pk, "gold": version.number, "algorithm": params["algorithm"]},
            )
    except IntegrityError as error:
        again = TrainedModel.objects.filter(project=project, job__key=f"train-{key}").first()
        if again is not None:  # the other click was a moment faster
            return again
        raise taken(name) from error
    return row


def end_early(*, model: TrainedModel) -> TrainedModel:
    """Have a training end with what it has learned in its whole epochs so far. Repeating is harmless.

    Raises ServiceError where it is not under way, or its kind can't.
    """
    if not trainable_kind(model.backend).by_epoch:
        raise ServiceError(
            _("this kind of training can't end early with what it has; it can be cancelled"), code="kind"
        )
    under_way = TrainedModel.objects.filter(
        pk=model.pk, state=TrainedModel.State.TRAINING, job__state=Job.State.RUNNING
    )
    if not under_way.update(enough=True):
        raise ServiceError(_("this training is not under way"), code="state")
    model.refresh_from_db()
    return model


def begin_with(project: Project, backend: str) -> list[TrainedModel]:
    """The project's models that another one of the kind can begin with, by name."""
    rows = TrainedModel.objects.filter(project=project, backend=backend, state=TrainedModel.State.READY)
    return list(rows.exclude(stored_file=None).order_by("name"))


def _params(project: Project, ask: _Ask) -> dict[str, Any]:
    try:
        kind = trainable_kind(ask.backend)
    except LookupError as error:
        raise ServiceError(str(error), code="backend") from error
    algorithm, iterations = ask.algorithm or next(iter(kind.algorithms)), ask.iterations
    if algorithm not in kind.algorithms:
        raise ServiceError(
            _("unknown algorithm %(algorithm)s; there are: %(choices)s")
            % {"algorithm": repr(algorithm), "choices": ", ".join(kind.algorithms)},
            code="algorithm",
        )
    if iterations is not None and not 1 <= iterations <= MOST_ITERATIONS:
        raise ServiceError(
            _("%(iterations)s iterations can't be; 1 to %(most_iterations)s can")
            % {"iterations": iterations, "most_iterations": MOST_ITERATIONS},
            code="iterations",
        )
    if not 0 <= ask.adapt <= MOST_ADAPT:
        raise ServiceError(
            _("%(adapt)s epochs on the notes can't be; 0 to %(most_adapt)s can")
            % {"adapt": ask.adapt, "most_adapt": MOST_ADAPT},
            code="adapt",
        )
    if ask.adapt and not kind.adapts:
        able = ", ".join(each.title for each in TRAINABLE.values() if each.adapts)
        raise ServiceError(
            _("%(title)s can't learn the notes' language first; only %(able)s can")
            % {"title": kind.title, "able": able},
            code="adapt",
        )
    if ask.grouping and not kind.grouped:
        raise ServiceError(
            _("%(title)s does not read by sentences, so there is nothing to group") % {"title": kind.title},
            code="grouping",
        )
    if not 0 <= ask.grouping <= MOST_GROUPED:
        raise ServiceError(
            _("%(grouping)s sentences can't be read as one; 1 to %(most_grouped)s can")
            % {"grouping": ask.grouping, "most_grouped": MOST_GROUPED},
            code="grouping",
        )
    params: dict[str, Any] = {"algorithm": algorithm}
    params |= {"grouping": ask.grouping} if ask.grouping else {}
    params |= {"iterations": iterations} if iterations else {}
    params |= {"language": ask.language} if ask.language else {}
    params |= {"adapt": ask.adapt} if ask.adapt else {}
    if kind.based:
        return params | _base(project, ask)
    if ask.base:
        based = ", ".join(each.title for each in TRAINABLE.values() if each.based)
        raise ServiceError(
            _("%(title)s learns from nothing but gold; only %(based)s begins with weights")
            % {"title": kind.title, "based": based},
            code="base",
        )
    return params


def _base(project: Project, ask: _Ask) -> dict[str, Any]:
    """`base` by its name, and the model's id where it is one of the project's own."""
    models = begin_with(project, ask.backend)
    model = next((row for row in models if ask.base in (f"{OF_MODEL}{row.pk}", row.name)), None)
    if model is not None:
        return {"base": model.name, "base_model": model.pk}
    if weights.weights_named(ask.base) is not None:
        return {"base": ask.base}
    choices = ", ".join([*(row.name for row in weights.weights()), *(row.name for row in models)])
    if not choices:
        raise ServiceError(
            _("there are no weights to begin with: put a folder of them in %(home)s") % {"home": weights.home()},
            code="base",
        )
    said = f"there are no weights {ask.base!r}" if ask.base else "say which weights to begin with"
    raise ServiceError(_("%(said)s; there are: %(choices)s") % {"said": said, "choices": choices}, code="base")


def _version(project: Project, number: int, language: str) -> GoldVersion:
    version = GoldVersion.objects.filter(project=project, number=number).first()
    if version is None:
        numbers = project.gold_versions.order_by("number").values_list("number", flat=True)
        choices = ", ".join(map(str, numbers)) or "none yet: freeze one first"
        raise ServiceError(
            _("there is no gold version %(number)s; frozen versions: %(choices)s")
            % {"number": number, "choices": choices},
            code="version",
        )
    if not version.span_count:
        raise ServiceError(
            _("gold version %(number)s has no spans: there is nothing to learn") % {"number": number}, code="version"
        )
    if language and language not in (there := languages_of(version)):
        raise ServiceError(
            _("gold version %(number)s has no notes in %(language)s; its languages: %(value)s")
            % {"number": number, "language": repr(language), "value": ", ".join(there) or "not given"},
            code="language",
        )
    return version
