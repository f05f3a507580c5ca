"""The masking threshold of a run: given as a number, or chosen from a model's hold-out for a wanted figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.scores.rules.operating import OperatingPoint, for_precision, for_recall, nearest
from models_runtime.core.registry import ENSEMBLE, backend_kind, trainable_kind
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.backends import Chosen

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
        return trainable_kind(model.backend).marginals
    return backend != ENSEMBLE and backend_kind(backend).marginals


def at_threshold(choice: Chosen, wanted: ThresholdGoal) -> tuple[Chosen, dict[str, Any]]:
    """Return the choice with the default name of its runs, and the parameters of a run at the wanted point.

    Raises ServiceError `threshold` for a backend without probabilities, for more than one wish, for a number out of
    range, for a figure that no threshold of the model's hold-out reaches, and for a model without these figures.
    """
    if not wanted:
        return choice, {}
    if not gives_marginals(choice.backend, choice.model):
        raise _refused(
            _(
                "“%(name)s” gives no probabilities of labels, so it can't use a threshold. Choose a CRF, a "
                "BiLSTM-CRF, a transformer or a Flair tagger."
            )
            % {"name": choice.stem}
        )
    threshold = _threshold(choice, wanted)
    params: dict[str, Any] = {"threshold": threshold}
    for figure in ("recall", "precision"):
        if (value := getattr(wanted, figure)) is not None:
            params["threshold_for"] = {figure: value}
    return Chosen(choice.backend, choice.model, named(choice.stem, threshold)), params


def ensemble_params(members: Sequence[tuple[str, str, TrainedModel | None]], wanted: ThresholdGoal) -> dict[str, Any]:
    """Return the parameters of an ensemble that reads at a threshold on the mean probabilities of its members.

    `members`: name, backend and model of each; the backend is empty for a run. Raises ServiceError `threshold`.
    """
    if not wanted:
        return {}
    without = [name for name, backend, model in members if not backend or not gives_marginals(backend, model)]
    if without:
        raise _refused(
            _(
                "These members give no probabilities of labels, so the ensemble can't use a threshold: %(names)s. "
                "Choose only models of the types CRF, BiLSTM-CRF and transformer, not their runs."
            )
            % {"names": ", ".join(without)}
        )
    if wanted.threshold is None:
        raise _refused(_("An ensemble has no figures by threshold on held-out notes. Enter a threshold."))
    return {"threshold": _checked(wanted.threshold, _("threshold"))}


def named(stem: str, threshold: float) -> str:
    """Return the stem of the default names of runs at this threshold."""
    return f"{stem}{NAMED_AFTER}{threshold:g}"


def _threshold(choice: Chosen, wanted: ThresholdGoal) -> float:
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
        raise _refused(
            _("No threshold of “%(name)s” reaches this %(figure)s on held-out notes. The highest is %(best)s.")
            % {"name": choice.stem, "figure": _(figure), "best": f"{best:.4f}"}
        )
    return found["threshold"]


def _checked(value: float | None, figure: str) -> float:
    if value is None or not LEAST <= value <= MOST:
        raise _refused(
            _("The %(figure)s must be between %(least)s and %(most)s.")
            % {"figure": figure, "least": f"{LEAST:g}", "most": f"{MOST:g}"}
        )
    return round(value, 6)


def _refused(message: str) -> ServiceError:
    return ServiceError(message, code="threshold")


def expected(run: Run) -> OperatingPoint | None:
    """Return the figures of the hold-out at the stored threshold nearest to the run's; None without them."""
    threshold = run.params.get("threshold")
    if threshold is None or run.model is None:
        return None
    return nearest(points_of(run.model), threshold)
