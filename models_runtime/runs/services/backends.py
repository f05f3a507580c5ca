"""What a project's notes can be read with: the backends that are always there, and its own trained models."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Job, Project
from models_runtime.core.model_files import missing_labels
from models_runtime.core.registry import BACKENDS, ENSEMBLE, FOREIGN, LLM, backend_kind, trainable_kind
from models_runtime.models import OF_MODEL, Run, TrainedModel

# Who has a GPU can call an LLM server too; not the other way round.
DEMANDING = (Job.Queue.GPU, Job.Queue.LLM)


@dataclass(frozen=True)
class Chosen:
    """`backend` as a run keeps it; `stem` begins the names of its runs."""

    backend: str
    model: TrainedModel | None
    stem: str


def ready_models(project: Project) -> list[TrainedModel]:
    """Models that can be run, by name."""
    rows = TrainedModel.objects.filter(project=project, state=TrainedModel.State.READY)
    return list(rows.select_related("gold_version").order_by("name"))


def queue_of(run: Run) -> str:
    """The queue that a run goes to: its backend's; an ensemble's is that of its most demanding member."""
    if run.model is not None:
        return trainable_kind(run.model.backend).queue
    if run.backend != ENSEMBLE:
        return backend_kind(run.backend).queue
    keys = [each["backend"] for each in run.params["members"] if "backend" in each]
    models = TrainedModel.objects.filter(pk__in=[key.removeprefix(OF_MODEL) for key in keys if OF_MODEL in key])
    queues = {trainable_kind(key).queue for key in models.values_list("backend", flat=True)}
    queues |= {backend_kind(key).queue for key in keys if OF_MODEL not in key}
    return next((queue for queue in DEMANDING if queue in queues), Job.Queue.CPU)


def chosen(project: Project, word: str) -> Chosen:
    """The backend that is called `word`: a key, `model:ID`, or a model's name.

    Raises ServiceError naming the choices, or the labels that the project lacks.
    """
    if word == ENSEMBLE:
        raise ServiceError(_("an ensemble is made of members; say which"), code="members")
    if word == LLM:
        raise ServiceError(_("a language model is run with a server and a model; say which"), code="llm")
    if word in FOREIGN:
        raise ServiceError(_("say which model of this kind, and what its labels are called here"), code="pipeline")
    if word in BACKENDS:
        return Chosen(word, None, word)
    models = ready_models(project)
    model = next((row for row in models if word in (f"{OF_MODEL}{row.pk}", row.name)), None)
    if model is None:
        choices = ", ".join([*sorted(BACKENDS), *(row.name for row in models)])
        raise ServiceError(
            _("unknown backend %(word)s; there are: %(choices)s") % {"word": repr(word), "choices": choices},
            code="backend",
        )
    if missing := missing_labels(model, model.card.get("labels", [])):
        raise ServiceError(
            _("the model %(name)s can't run here: it has labels that this project lacks: %(missing)s")
            % {"name": model.name, "missing": missing},
            code="labels",
        )
    return Chosen(f"{OF_MODEL}{model.pk}", model, model.name)
