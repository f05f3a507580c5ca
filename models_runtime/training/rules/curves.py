"""Beta calibration (Kull et al. 2017): logit of the true share = a ln x - b ln(1 - x) + c, for a confidence x.

With a and b not below 0, calibration doesn't change the order of spans by confidence within a label. Curves are fitted
by penalized maximum likelihood: the penalty pulls the three parameters towards those of a prior curve, so that few
examples change the curve only a little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log1p
from typing import Final

Counted = tuple[float, int, int]
"""A confidence, the number of spans that have it, and the number of these that are right."""

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
