"""A logistic model with two classes and many sparse binary features, fitted by L-BFGS with numpy.

The objective is that of a maximum entropy model with a weight for each feature and class that occur together: the sum
of the examples' negative log-likelihoods, plus C2 times the squared weights. crfsuite has the same objective, and takes
more than twice as long.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, Final, NamedTuple

import numpy

Vector = numpy.ndarray[Any, numpy.dtype[numpy.float64]]
C2: Final = 0.6
"""The weight of the penalty."""
_MOST_STEPS: Final = 100
_MEMORY: Final = 8
_PRECISE: Final = 2e-4
"""A step that improves the objective by a smaller share is the last one."""
_ENOUGH: Final = 1e-4
_SHORTEST: Final = 1e-10


class Vocabulary(dict[str, int]):
    """Numbers of features. A new feature gets the next number when it is first looked up by `add`."""

    def __missing__(self, feature: str) -> int:
        number = self[feature] = len(self)
        return number

    def add(self, features: Iterable[str]) -> "array[int]":
        """The numbers of features."""
        return array("i", map(self.__getitem__, features))


class DecisionExample(NamedTuple):
    """The numbers of an example's features, at least one, and whether it belongs to the class."""

    features: "array[int]"
    right: bool


@dataclass(frozen=True)
class Logistic:
    """The probability of the class by features."""

    vocabulary: Vocabulary
    weights: list[float]

    def probability(self, features: Iterable[str]) -> float:
        known = map(self.vocabulary.get, features)
        # Features without a weight were first seen in examples that had no part in learning.
        score = sum(self.weights[number] for number in known if number is not None and number < len(self.weights))
        return 1 / (1 + exp(-score)) if score > 0 else exp(score) / (1 + exp(score))


def fit(vocabulary: Vocabulary, examples: Sequence[DecisionExample]) -> Logistic:
    """Learn from examples, of which there is at least one. Deterministic."""
    return Logistic(vocabulary, _minimum(_Problem(len(vocabulary), examples)).tolist())


class _Problem:
    """The objective, and its gradient. A weight is that of the class, less that of the other one."""

    def __init__(self, size: int, examples: Sequence[DecisionExample]) -> None:
        lengths = numpy.array([len(one.features) for one in examples], numpy.int64)
        self.size = size
        self._starts = numpy.cumsum(lengths) - lengths
        self._lengths = lengths
        self._features = numpy.concatenate([numpy.frombuffer(one.features, numpy.intc) for one in examples])
        self._signs = numpy.array([1.0 if one.right else -1.0 for one in examples])
        counts = numpy.bincount(self._features, minlength=size)
        right = numpy.bincount(self._features, numpy.repeat(self._signs > 0, lengths), minlength=size)
        # Two weights of opposite signs, each half as large, cost half as much as one.
        self._costs = numpy.where((right > 0) & (right < counts), C2 / 2, C2)

    def at(self, weights: Vector) -> tuple[float, Vector]:
        """The objective and its gradient."""
        margins = self._signs * numpy.add.reduceat(weights[self._features], self._starts)
        value = numpy.logaddexp(0, -margins).sum() + (self._costs * weights * weights).sum()
        pulls = -self._signs / (1 + numpy.exp(numpy.minimum(margins, 700)))
        gradient = numpy.bincount(self._features, numpy.repeat(pulls, self._lengths), minlength=self.size)
        return float(value), gradient + 2 * self._costs * weights


def _minimum(problem: _Problem) -> Vector:
    """The weights at the minimum (Nocedal and Wright 2006, algorithm 7.5)."""
    weights = numpy.zeros(problem.size)
    value, gradient = problem.at(weights)
    memory: list[_Step] = []
    for _ in range(_MOST_STEPS):
        direction = _direction(gradient, memory)
        slope, length = _dot(gradient, direction), 1.0
        while True:
            new = weights + length * direction
            new_value, new_gradient = problem.at(new)
            if new_value <= value + _ENOUGH * length * slope:
                break
            length /= 2
            if length < _SHORTEST:
                return weights
        moved, bent = new - weights, new_gradient - gradient
        curved = _dot(moved, bent)
        if curved > 0:
            memory = [*memory, _Step(moved, bent, curved)][-_MEMORY:]
        gained, weights, value, gradient = value - new_value, new, new_value, new_gradient
        if gained <= _PRECISE * value:
            break
    return weights


class _Step(NamedTuple):
    """A step of the weights, the change of the gradient with it, and the product of the two."""

    moved: Vector
    bent: Vector
    curved: float


def _direction(gradient: Vector, memory: Sequence[_Step]) -> Vector:
    """The direction of the next step: the two loops of L-BFGS. The first step has the length 1."""
    found = -gradient
    if not memory:
        return found / max(1.0, sqrt(_dot(gradient, gradient)))
    shares = []
    for step in reversed(memory):
        share = _dot(step.moved, found) / step.curved
        shares.append(share)
        found = found - share * step.bent
    found = found * (memory[-1].curved / _dot(memory[-1].bent, memory[-1].bent))
    for step, share in zip(memory, reversed(shares), strict=True):
        found = found + (share - _dot(step.bent, found) / step.curved) * step.moved
    return found


def _dot(one: Vector, other: Vector) -> float:
    """The dot product on one core: BLAS would start threads, which cost more than they save here."""
    return float(numpy.einsum("i,i", one, other))
