"""Trainings, asked for. The work itself is models_runtime.jobs.training."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotations.models import Document, GoldVersion, Project, User, Verb
from annotations.services.errors import ServiceError
from annotations.services.events import record
from models_runtime.models import Job, TrainedModel
from models_runtime.registry import trainable_kind
from models_runtime.services.model_names import free_name, good_name, taken
from models_runtime.services.queue import enqueue

MOST_ITERATIONS = 1000


def start_training(
    *,
    project: Project,
    gold: int,
    actor: User | None,
    key: str,
    algorithm: str = "",
    name: str = "",
    iterations: int | None = None,
    backend: str = "crf",
) -> TrainedModel:
    """A model that learns from a frozen gold version: its row and its job in one transaction.

    The same `key` gives the same model: a double click is one training. Raises ServiceError for an unknown version or
    algorithm, a version without spans, or a name that is taken.
    """
    there = TrainedModel.objects.filter(project=project, job__key=f"train-{key}").first()
    if there is not None:
        return there
    params = _params(backend, algorithm, iterations)
    version = _version(project, gold)
    name = good_name(name) if name.strip() else ""
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
                data={"model": row.name, "gold": version.number, "algorithm": params["algorithm"]},
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
        raise ServiceError("this kind of training can't end early with what it has; it can be cancelled", code="kind")
    under_way = TrainedModel.objects.filter(
        pk=model.pk, state=TrainedModel.State.TRAINING, job__state=Job.State.RUNNING
    )
    if not under_way.update(enough=True):
        raise ServiceError("this training is not under way", code="state")
    model.refresh_from_db()
    return model


def _params(backend: str, algorithm: str, iterations: int | None) -> dict[str, Any]:
    try:
        algorithms = trainable_kind(backend).algorithms
    except LookupError as error:
        raise ServiceError(str(error), code="backend") from error
    algorithm = algorithm or next(iter(algorithms))
    if algorithm not in algorithms:
        raise ServiceError(f"unknown algorithm {algorithm!r}; there are: {', '.join(algorithms)}", code="algorithm")
    if iterations is not None and not 1 <= iterations <= MOST_ITERATIONS:
        raise ServiceError(f"{iterations} iterations can't be; 1 to {MOST_ITERATIONS} can", code="iterations")
    return {"algorithm": algorithm} | ({"iterations": iterations} if iterations else {})


def _version(project: Project, number: int) -> GoldVersion:
    version = GoldVersion.objects.filter(project=project, number=number).first()
    if version is None:
        numbers = project.gold_versions.order_by("number").values_list("number", flat=True)
        choices = ", ".join(map(str, numbers)) or "none yet: freeze one first"
        raise ServiceError(f"there is no gold version {number}; frozen versions: {choices}", code="version")
    if not version.span_count:
        raise ServiceError(f"gold version {number} has no spans: there is nothing to learn", code="version")
    return version
