"""Beta calibration (Kull et al. 2017): logit of the true share = a ln x - b ln(1 - x) + c, for a confidence x.

With a and b not below 0, calibration doesn't change the order of spans by confidence within a label. Curves are fitted
by penalized maximum likelihood: the penalty pulls the three parameters towards those of a prior curve, so that few
examples change the curve only a little.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, log1p
from typing import Any, Final

from models_runtime.training.rules.reliability import FOLDS, Counted, Outcomes, Reliability

Vector = tuple[float, float, float]

# Confidences are rounded to four digits, so this is half a step away from 0 and 1.
EDGE: Final = 0.00005
# Beyond this logit, the share would be rounded to exactly 0 or 1, which no calibrated confidence may be.
_STEEPEST: Final = 30.0
_ROUNDS: Final = 50
_ENOUGH: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """A function from a raw confidence to a calibrated one. The default changes nothing."""

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0

    def __call__(self, confidence: float) -> float:
        """The calibrated confidence, above 0 and below 1; a raw 0 or 1 is moved inwards by EDGE first."""
        logit = _dot(self.parameters, _features(confidence))
        return _share(min(max(logit, -_STEEPEST), _STEEPEST))

    @property
    def parameters(self) -> Vector:
        return self.a, self.b, self.c


AS_IT_IS: Final = Curve()


def fit(points: Sequence[Counted], *, prior: Curve, weight: float) -> Curve:
    """The curve that fits the points best; `weight` is the strength of the penalty towards `prior`.

    A `weight` above 0 makes the solution unique. Without points it is `prior`.
    """
    rows = [(_features(confidence), spans, right) for confidence, spans, right in points if spans]
    held: set[int] = set()
    while True:
        found = _newton(rows, prior.parameters, weight, held)
        below = {at for at in (0, 1) if found[at] < 0}
        if not below:
            return Curve(*found)
        held |= below


def _features(confidence: float) -> Vector:
    x = min(max(confidence, EDGE), 1 - EDGE)
    return log(x), -log1p(-x), 1.0


def _dot(left: Vector, right: Vector) -> float:
    return left[0] * right[0] + left[1] * right[1] + left[2] * right[2]


def _share(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit >= 0 else exp(logit) / (1 + exp(logit))


Row = tuple[Vector, int, int]


def _newton(rows: Sequence[Row], prior: Vector, weight: float, held: set[int]) -> Vector:
    """The minimum of the loss by Newton's method; steps that go too far are halved. Parameters in `held` stay 0."""
    now = _held(prior, held)
    loss = _loss(rows, now, prior, weight)
    for _ in range(_ROUNDS):
        step = _step(rows, now, prior, weight, held)
        size = 1.0
        while True:
            tried: Vector = (now[0] - size * step[0], now[1] - size * step[1], now[2] - size * step[2])
            there = _loss(rows, tried, prior, weight)
            if there <= loss or size < _ENOUGH:
                break
            size /= 2
        gain, now, loss = loss - there, tried, there
        if gain <= _ENOUGH * (1 + abs(loss)):
            break
    return now


def _held(parameters: Vector, held: set[int]) -> Vector:
    a, b, c = parameters
    return (0.0 if 0 in held else a), (0.0 if 1 in held else b), c


def _loss(rows: Sequence[Row], now: Vector, prior: Vector, weight: float) -> float:
    """The negative log-likelihood plus the penalty."""
    away = (now[0] - prior[0], now[1] - prior[1], now[2] - prior[2])
    loss = weight / 2 * _dot(away, away)
    for features, spans, right in rows:
        logit = _dot(now, features)
        loss += spans * (max(logit, 0.0) + log1p(exp(-abs(logit)))) - right * logit
    return loss


def _step(rows: Sequence[Row], now: Vector, prior: Vector, weight: float, held: set[int]) -> list[float]:
    """The Newton step: the inverse of the matrix of second derivatives times the gradient."""
    gradient = [weight * (now[at] - prior[at]) for at in range(3)]
    bend = [[weight if row == column else 0.0 for column in range(3)] for row in range(3)]
    for features, spans, right in rows:
        share = _share(_dot(now, features))
        off, spread = spans * share - right, spans * share * (1 - share)
        for row in range(3):
            gradient[row] += off * features[row]
            for column in range(row, 3):
                bend[row][column] += spread * features[row] * features[column]
    for row in range(3):
        for column in range(row):
            bend[row][column] = bend[column][row]
    for at in held:
        gradient[at] = 0.0
        for other in range(3):
            bend[at][other] = bend[other][at] = float(at == other)
    return _solved(bend, gradient)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a linear system by Gaussian elimination; a symmetric positive definite matrix needs no pivoting."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(3):
        for below in range(at + 1, 3):
            share = rows[below][at] / rows[at][at]
            rows[below] = [low - share * high for low, high in zip(rows[below], rows[at], strict=True)]
    found = [0.0, 0.0, 0.0]
    for at in (2, 1, 0):
        found[at] = (rows[at][3] - sum(rows[at][k] * found[k] for k in range(at + 1, 3))) / rows[at][at]
    return found


# Calibration curves by label: a label's own curve if it has enough examples, else the curve of all labels.


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
