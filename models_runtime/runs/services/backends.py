"""The backends that a project can run: the built-in ones and its own trained models."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Job, Project
from models_runtime.core.known import check_known
from models_runtime.core.model_files import missing_labels
from models_runtime.core.registry import (
    BACKENDS,
    ENSEMBLE,
    EXTERNAL,
    KNOWN,
    LLM,
    backend_kind,
    language_models,
    trainable_kind,
)
from models_runtime.models import OF_MODEL, Run, TrainedModel, TrainedModelState

# A worker with a GPU can also call a server of language models, but not the other way round.
DEMANDING = (Job.Queue.GPU, Job.Queue.LLM)


@dataclass(frozen=True)
class Chosen:
    """A chosen backend: its key as runs store it, its model, and the stem of its runs' default names."""

    backend: str
    model: TrainedModel | None
    stem: str


def ready_models(project: Project) -> list[TrainedModel]:
    """List the models that can be run, by name. A language model can't."""
    rows = TrainedModel.objects.filter(project=project, state=TrainedModelState.READY)
    rows = rows.exclude(backend__in=language_models())
    return list(rows.select_related("gold_version").order_by("name"))


def queue_of(run: Run) -> str:
    """Return the queue of the run's backend; for an ensemble, the queue of its most demanding member."""
    if run.model is not None:
        return trainable_kind(run.model.backend).queue
    if run.backend != ENSEMBLE:
        return backend_kind(run.backend).queue
    keys = [each["backend"] for each in run.params["members"] if "backend" in each]
    models = TrainedModel.objects.filter(pk__in=[key.removeprefix(OF_MODEL) for key in keys if OF_MODEL in key])
    queues = {trainable_kind(key).queue for key in models.values_list("backend", flat=True)}
    queues |= {backend_kind(key).queue for key in keys if OF_MODEL not in key}
    return next((queue for queue in DEMANDING if queue in queues), Job.Queue.CPU)


def chosen(project: Project, spec: str) -> Chosen:
    """Return the backend that `spec` names: a key, `model:ID`, or a model's name.

    Raises ServiceError, with the choices or the missing labels in its message.
    """
    if spec == ENSEMBLE:
        raise ServiceError(
            _("An ensemble needs members. Choose them on the page “Combine”, or with --members."), code="members"
        )
    if spec == LLM:
        raise ServiceError(_("A language model needs a server and a model. Choose both."), code="llm")
    if spec in EXTERNAL:
        raise ServiceError(
            _("Choose a model of this type and a project label for each of its labels."), code="pipeline"
        )
    if spec == KNOWN:
        check_known(project)
    if spec in BACKENDS:
        return Chosen(spec, None, spec)
    models = ready_models(project)
    model = next((row for row in models if spec in (f"{OF_MODEL}{row.pk}", row.name)), None)
    if model is None:
        choices = ", ".join([*sorted(BACKENDS), *(row.name for row in models)])
        raise ServiceError(
            _("There is no backend “%(name)s”. Choose one of: %(choices)s.") % {"name": spec, "choices": choices},
            code="backend",
        )
    if missing := missing_labels(model, model.card.get("labels", [])):
        raise ServiceError(
            _(
                "The model “%(name)s” can't run in this project, which doesn't have its labels %(missing)s. "
                "Choose another model."
            )
            % {"name": model.name, "missing": missing},
            code="labels",
        )
    return Chosen(f"{OF_MODEL}{model.pk}", model, model.name)
