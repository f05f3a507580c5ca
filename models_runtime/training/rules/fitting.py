"""Calibration curves by label: a label's own curve if it has enough examples, else the curve of all labels."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final

from models_runtime.training.rules.curves import AS_IT_IS, Counted, Curve, fit
from models_runtime.training.rules.outcomes import FOLDS, Outcomes
from models_runtime.training.rules.reliability import Reliability

# A calibration needs at least this many spans over all labels.
LEAST: Final = 50
# A label with fewer spans uses the curve of all labels; with more it gets its own curve, with that one as the prior.
LEAST_OWN: Final = 20
# The weight of the prior (see `curves.fit`): the identity for the curve of all labels, that curve for a label's own.
POOL_WEIGHT: Final = 1.0
LABEL_WEIGHT: Final = 5.0
METHOD: Final = "beta-1"


class TooFew(ValueError):
    """There are too few spans for a calibration; `spans` is their number."""

    def __init__(self, spans: int) -> None:
        super().__init__(f"There are too few spans with a confidence ({spans}). A calibration needs at least {LEAST}.")
        self.spans = spans


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves by label, and the one for all other labels (`pool`).

    `added`: the curve of spans that only a masking threshold adds; None for as they are.
    """

    pool: Curve
    labels: dict[str, Curve]
    added: Curve | None = None
    _known: dict[tuple[str, float], float] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, label: str, confidence: float, *, added: bool = False) -> float:
        """The calibrated confidence, rounded to four digits. `added`: of a span that only a threshold adds."""
        if added:
            return confidence if self.added is None else round(self.added(round(confidence, 4)), 4)
        key = label, round(confidence, 4)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = round(self.labels.get(label, self.pool)(key[1]), 4)
        return found

    def covers(self, *, added: bool) -> bool:
        """Whether there is a curve for spans that only a masking threshold adds, or for the others."""
        return not added or self.added is not None

    def as_dict(self) -> dict[str, Any]:
        added = {} if self.added is None else {"added": list(self.added.parameters)}
        return {
            "method": METHOD,
            "pool": list(self.pool.parameters),
            "labels": {label: list(curve.parameters) for label, curve in self.labels.items()},
            **added,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Curves":
        labels = {label: Curve(*values) for label, values in data["labels"].items()}
        return cls(Curve(*data["pool"]), labels, Curve(*data["added"]) if "added" in data else None)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration, with the reliability of the confidences before and after it, over all labels and by label.

    `after` is cross-fitted: the curves for a span were fitted without any note of its patient.
    """

    curves: Curves
    before: Reliability
    after: Reliability
    labels: dict[str, tuple[Reliability, Reliability]]

    def figures(self) -> dict[str, Any]:
        return {
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "labels": [
                {
                    "label": label,
                    "own": label in self.curves.labels,
                    "before": before.as_dict(),
                    "after": after.as_dict(),
                }
                for label, (before, after) in self.labels.items()
            ],
        }


def fitted(outcomes: Outcomes, added: Outcomes | None = None) -> Fitted:
    """Fit the curves and measure their reliability. Raises TooFew.

    `added`: spans that only a masking threshold adds. LEAST_OWN or more of them get one curve; they have no figures.
    """
    spans = sum(n for _, n, _ in outcomes.points())
    if spans < LEAST:
        raise TooFew(spans)
    after = _cross_fitted(outcomes)
    return Fitted(
        curves=replace(_curves(outcomes, range(FOLDS)), added=_added(added)),
        before=Reliability.of(outcomes.points()),
        after=Reliability.of([point for points in after.values() for point in points]),
        labels={
            label: (Reliability.of(outcomes.points(label)), Reliability.of(after[label])) for label in outcomes.labels
        },
    )


def _added(outcomes: Outcomes | None) -> Curve | None:
    points = outcomes.points() if outcomes else []
    if sum(n for _, n, _ in points) < LEAST_OWN:
        return None
    return fit(points, prior=AS_IT_IS, weight=LABEL_WEIGHT)


def _curves(outcomes: Outcomes, folds: Collection[int]) -> Curves:
    pool = fit(outcomes.points(folds=folds), prior=AS_IT_IS, weight=POOL_WEIGHT)
    curves = {}
    for label in outcomes.labels:
        points = outcomes.points(label, folds=folds)
        if sum(n for _, n, _ in points) >= LEAST_OWN:
            curves[label] = fit(points, prior=pool, weight=LABEL_WEIGHT)
    return Curves(pool, curves)


def _cross_fitted(outcomes: Outcomes) -> dict[str, list[Counted]]:
    """The calibrated confidences of each label's spans, by curves that were fitted on the other folds."""
    others = [_curves(outcomes, [fold for fold in range(FOLDS) if fold != left]) for left in range(FOLDS)]
    found: dict[str, list[Counted]] = defaultdict(list)
    for label, fold, (confidence, spans, right) in outcomes.cells():
        found[label].append((others[fold](label, confidence), spans, right))
    return found
