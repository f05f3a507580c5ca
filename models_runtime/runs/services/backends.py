"""The backends that a project can run: the built-in ones and its own trained models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.models import Job, Project
from annotations.scores.rules.operating import OperatingPoint, for_precision, for_recall, nearest
from models_runtime.backends.listed import ListedServer
from models_runtime.core import registry
from models_runtime.core.model_files import check_known, missing_labels
from models_runtime.models import OF_MODEL, Run, TrainedModel, TrainedModelState

# A worker with a GPU can also call a server of language models, but not the other way round.
DEMANDING = (Job.Queue.GPU, Job.Queue.LLM)


@dataclass(frozen=True)
class ChosenBackend:
    """A chosen backend: its key as runs store it, its model, and the stem of its runs' default names."""

    backend: str
    model: TrainedModel | None
    stem: str


def ready_models(project: Project) -> list[TrainedModel]:
    """List the models that can be run, by name. A language model can't."""
    rows = TrainedModel.objects.filter(project=project, state=TrainedModelState.READY)
    rows = rows.exclude(backend__in=registry.language_models())
    return list(rows.select_related("gold_version").order_by("name"))


def queue_of(run: Run) -> str:
    """Return the queue of the run's backend; for an ensemble, the queue of its most demanding member."""
    if run.model is not None:
        return registry.trainable_kind(run.model.backend).queue
    if run.backend != registry.ENSEMBLE:
        return registry.backend_kind(run.backend).queue
    keys = [each["backend"] for each in run.params["members"] if "backend" in each]
    models = TrainedModel.objects.filter(pk__in=[key.removeprefix(OF_MODEL) for key in keys if OF_MODEL in key])
    queues = {registry.trainable_kind(key).queue for key in models.values_list("backend", flat=True)}
    queues |= {registry.backend_kind(key).queue for key in keys if OF_MODEL not in key}
    return next((queue for queue in DEMANDING if queue in queues), Job.Queue.CPU)


def chosen(project: Project, spec: str) -> ChosenBackend:
    """Return the backend that `spec` names: a key, `model:ID`, or a model's name.

    Raises ServiceError, with the choices or the missing labels in its message.
    """
    if spec == registry.ENSEMBLE:
        message = _("An ensemble needs members. Choose them on the page “Combine”, or with --members.")
        raise ServiceError(message, code="members")
    if spec == registry.LLM:
        raise ServiceError(_("A language model needs a server and a model. Choose both."), code="llm")
    if spec in registry.EXTERNAL:
        message = _("Choose a model of this type and a project label for each of its labels.")
        raise ServiceError(message, code="pipeline")
    if spec == registry.KNOWN:
        check_known(project)
    if spec in registry.BACKENDS:
        return ChosenBackend(spec, None, spec)
    models = ready_models(project)
    model = next((row for row in models if spec in (f"{OF_MODEL}{row.pk}", row.name)), None)
    if model is None:
        choices = ", ".join([*sorted(registry.BACKENDS), *(row.name for row in models)])
        message = _("There is no backend “%(name)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"name": spec, "choices": choices}, code="backend")
    if missing := missing_labels(model, model.card.get("labels", [])):
        message = _(
            "The model “%(name)s” can't run in this project, which doesn't have its labels %(missing)s. "
            "Choose another model."
        )
        raise ServiceError(message % {"name": model.name, "missing": missing}, code="labels")
    return ChosenBackend(f"{OF_MODEL}{model.pk}", model, model.name)


# The masking threshold of a run: given as a number, or chosen from a model's hold-out for a wanted figure.


LEAST: Final = 0.001
MOST: Final = 0.999
NAMED_AFTER: Final = "-above-"


@dataclass(frozen=True)
class ThresholdGoal:
    """At most one of: a threshold, or the recall or precision of characters that the hold-out must show (0 to 1)."""

    threshold: float | None = None
    recall: float | None = None
    precision: float | None = None

    def __bool__(self) -> bool:
        return any(each is not None for each in (self.threshold, self.recall, self.precision))


NOTHING: Final = ThresholdGoal()


def points_of(model: TrainedModel) -> list[OperatingPoint]:
    """Return the figures of a model's hold-out by threshold; empty for an uploaded model, or one trained earlier."""
    scores = model.card.get("scores")
    return scores.get("thresholds", []) if scores else []


def gives_marginals(backend: str, model: TrainedModel | None) -> bool:
    """Return whether a backend gives probabilities of labels, so that it can read at a threshold."""
    if model is not None:
        return registry.trainable_kind(model.backend).marginals
    return backend != registry.ENSEMBLE and registry.backend_kind(backend).marginals


def at_threshold(choice: ChosenBackend, wanted: ThresholdGoal) -> tuple[ChosenBackend, dict[str, Any]]:
    """Return the choice with the default name of its runs, and the parameters of a run at the wanted point.

    Raises ServiceError `threshold` for a backend without probabilities, for more than one wish, for a number out of
    range, for a figure that no threshold of the model's hold-out reaches, and for a model without these figures.
    """
    if not wanted:
        return choice, {}
    if not gives_marginals(choice.backend, choice.model):
        message = _(
            "“%(name)s” gives no probabilities of labels, so it can't use a threshold. Choose a CRF, a "
            "BiLSTM-CRF, a transformer or a Flair tagger."
        )
        raise _refused(message % {"name": choice.stem})
    threshold = _threshold(choice, wanted)
    params: dict[str, Any] = {"threshold": threshold}
    for figure in ("recall", "precision"):
        if (value := getattr(wanted, figure)) is not None:
            params["threshold_for"] = {figure: value}
    return ChosenBackend(choice.backend, choice.model, named(choice.stem, threshold)), params


def ensemble_params(members: Sequence[tuple[str, str, TrainedModel | None]], wanted: ThresholdGoal) -> dict[str, Any]:
    """Return the parameters of an ensemble that reads at a threshold on the mean probabilities of its members.

    `members`: name, backend and model of each; the backend is empty for a run. Raises ServiceError `threshold`.
    """
    if not wanted:
        return {}
    without = [name for name, backend, model in members if not backend or not gives_marginals(backend, model)]
    if without:
        message = _(
            "These members give no probabilities of labels, so the ensemble can't use a threshold: %(names)s. "
            "Choose only models of the types CRF, BiLSTM-CRF and transformer, not their runs."
        )
        raise _refused(message % {"names": ", ".join(without)})
    if wanted.threshold is None:
        raise _refused(_("An ensemble has no figures by threshold on held-out notes. Enter a threshold."))
    return {"threshold": _checked(wanted.threshold, _("threshold"))}


def named(stem: str, threshold: float) -> str:
    """Return the stem of the default names of runs at this threshold."""
    return f"{stem}{NAMED_AFTER}{threshold:g}"


def _threshold(choice: ChosenBackend, wanted: ThresholdGoal) -> float:
    if sum(each is not None for each in (wanted.threshold, wanted.recall, wanted.precision)) > 1:
        raise _refused(_("Enter only one of: a threshold, a wanted recall, a wanted precision."))
    if wanted.threshold is not None:
        return _checked(wanted.threshold, _("threshold"))
    points = points_of(choice.model) if choice.model else []
    if not points:
        raise _refused(
            _("“%(name)s” has no figures by threshold on held-out notes. Enter a threshold, or train the model again.")
            % {"name": choice.stem}
        )
    figure = "recall" if wanted.recall is not None else "precision"
    value = _checked(wanted.recall if wanted.recall is not None else wanted.precision, _(figure))
    found = (for_recall if figure == "recall" else for_precision)(points, value)
    if found is None or found["threshold"] is None:
        best = max((each[figure] or 0.0 for each in points if each["threshold"]), default=0.0)  # type: ignore[literal-required]  # one of two keys
        message = _("No threshold of “%(name)s” reaches this %(figure)s on held-out notes. The highest is %(best)s.")
        raise _refused(message % {"name": choice.stem, "figure": _(figure), "best": f"{best:.4f}"})
    return found["threshold"]


def _checked(value: float | None, figure: str) -> float:
    if value is None or not LEAST <= value <= MOST:
        message = _("The %(figure)s must be between %(least)s and %(most)s.")
        raise _refused(message % {"figure": figure, "least": f"{LEAST:g}", "most": f"{MOST:g}"})
    return round(value, 6)


def _refused(message: str) -> ServiceError:
    return ServiceError(message, code="threshold")


def expected(run: Run) -> OperatingPoint | None:
    """Return the figures of the hold-out at the stored threshold nearest to the run's; None without them."""
    threshold = run.params.get("threshold")
    if threshold is None or run.model is None:
        return None
    return nearest(points_of(run.model), threshold)


def check_consent(chosen: Sequence[ListedServer], *, may_leave: bool) -> None:
    """Raise ServiceError `leaves` if notes would leave this machine and `may_leave` is not set."""
    hosts = sorted({server.host for server in chosen if server.leaves_machine})
    if hosts and not may_leave:
        message = _(
            "The notes would be sent to another machine (%(choices)s). Nothing was sent. Confirm that they may be sent."
        )
        raise ServiceError(message % {"choices": ", ".join(hosts)}, code="leaves")
