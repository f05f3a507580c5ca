"""Beta calibration (Kull et al. 2017): logit of the true share = a ln x - b ln(1 - x) + c, for a confidence x.

With a and b not below 0, calibration doesn't change the order of spans by confidence within a label. Curves are fitted
by penalized maximum likelihood: the penalty pulls the three parameters towards those of a prior curve, so that few
examples change the curve only a little.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import exp, isfinite, log, log1p
from operator import mul
from typing import Any, Final

from annotations.scores.rules.intervals import wilson
from annotations.text.wording import WordedError

# Reliability of confidences: groups of spans with their mean confidence and their observed precision.


Counted = tuple[float, int, int]
"""A confidence, the number of spans that have it, and the number of these that are right."""

GROUPS: Final = 10


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """Spans of similar confidence: the mean confidence, the number of spans, and the number of right spans."""

    confidence: float
    spans: int
    right: int

    @property
    def share(self) -> float:
        return self.right / self.spans

    def as_dict(self) -> dict[str, Any]:
        low, high = wilson(self.right, self.spans) or (0.0, 1.0)
        own = {"confidence": round(self.confidence, 4), "share": self.share, "low": low, "high": high}
        return asdict(self) | own


@dataclass(frozen=True, slots=True)
class Reliability:
    """Figures of reliability.

    `ece`: the expected calibration error, which is the mean difference between a group's confidence and its share of
    right spans, weighted by spans (Naeini et al., AAAI 2015; here with groups of equal size). `brier`: the mean squared
    difference between each span's confidence and 1 (right) or 0 (wrong) (Brier 1950).
    """

    spans: int
    right: int
    confidence: float
    ece: float
    brier: float
    groups: list[ConfidenceBin]

    @classmethod
    def of(cls, points: Iterable[Counted]) -> "Reliability":
        """Compute the figures from counted confidences. Raises ValueError if there is no span."""
        counted = sorted(points)
        spans, right = sum(n for _, n, _ in counted), sum(r for _, _, r in counted)
        if not spans:
            raise ValueError("Reliability needs at least one span.")
        groups = list(_groups(counted, spans))
        return cls(
            spans=spans,
            right=right,
            confidence=sum(x * n for x, n, _ in counted) / spans,
            ece=sum(group.spans * abs(group.confidence - group.share) for group in groups) / spans,
            brier=sum(r * (1 - x) ** 2 + (n - r) * x**2 for x, n, r in counted) / spans,
            groups=groups,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"groups": [group.as_dict() for group in self.groups]}


def _groups(counted: list[Counted], spans: int) -> Iterator[ConfidenceBin]:
    """At most GROUPS groups of about the same size; spans of equal confidence stay together."""
    mass, n, r, before = 0.0, 0, 0, 0
    for confidence, more, right in counted:
        mass, n, r = mass + confidence * more, n + more, r + right
        if (before + n) * GROUPS >= spans * (before * GROUPS // spans + 1):
            yield ConfidenceBin(mass / n, n, r)
            mass, n, r, before = 0.0, 0, 0, before + n
    if n:
        yield ConfidenceBin(mass / n, n, r)


# Counts of right suggestions by label and confidence. Memory doesn't grow with the number of spans.


# Cross-fitting by patient: figures come from curves that were fitted without the patient's fold.
FOLDS: Final = 5
# Confidences are counted with four digits, because backends round to four digits.
STEPS: Final = 10_000


def fold_of(patient: str) -> int:
    """The fold, from 0, of all notes of a patient."""
    return int.from_bytes(hashlib.sha256(patient.encode()).digest()[:4]) % FOLDS


class Outcomes:
    """Counts of all and of right suggestions, by label, confidence (0 to 1) and fold."""

    def __init__(self) -> None:
        # By label and step: the number of spans in each fold, then the number of right spans in each fold.
        self._counts: dict[str, defaultdict[int, list[int]]] = {}

    def add(self, label: str, confidence: float | None, *, right: bool, fold: int) -> None:
        """Count one span. Spans without a finite confidence don't count."""
        if confidence is None or not isfinite(confidence):
            return
        steps = self._counts.get(label)
        if steps is None:
            steps = self._counts[label] = defaultdict(lambda: [0] * (2 * FOLDS))
        counts = steps[round(confidence * STEPS)]
        counts[fold] += 1
        counts[FOLDS + fold] += right

    @property
    def labels(self) -> list[str]:
        return sorted(self._counts)

    def points(self, label: str = "", *, folds: Collection[int] = range(FOLDS)) -> list[Counted]:
        """The counts of a label (empty: of all labels) in some folds, by rising confidence."""
        found: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for name in [label] if label else self._counts:
            for step, counts in self._counts.get(name, {}).items():
                found[step][0] += sum(counts[fold] for fold in folds)
                found[step][1] += sum(counts[FOLDS + fold] for fold in folds)
        return [(step / STEPS, spans, right) for step, (spans, right) in sorted(found.items()) if spans]

    def cells(self) -> Iterator[tuple[str, int, Counted]]:
        """All counts, as label, fold and counts for one confidence."""
        for label in self.labels:
            for step, counts in self._counts[label].items():
                for fold in range(FOLDS):
                    if counts[fold]:
                        yield label, fold, (step / STEPS, counts[fold], counts[FOLDS + fold])


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
        logit = sum(map(mul, self.parameters, _features(confidence)))
        return 1 / (1 + exp(-min(max(logit, -_STEEPEST), _STEEPEST)))

    @property
    def parameters(self) -> Vector:
        return self.a, self.b, self.c


AS_IT_IS: Final = Curve()


def fit(points: Sequence[Counted], *, prior: Curve, weight: float) -> Curve:
    """The curve that fits the points best; `weight` is the strength of the penalty towards `prior`.

    A `weight` above 0 makes the solution unique. Without points it is `prior`.
    """
    import numpy as np  # The web process, which loads this module, fits no curves.

    rows = np.array([(*_features(confidence), spans, right) for confidence, spans, right in points if spans])
    free = np.array([True, True, True])
    while True:
        found = _newton(rows.reshape(-1, 5), np.array(prior.parameters), weight, free)
        below = found[:2] < 0
        if not below.any():
            return Curve(*found.tolist())
        free[:2] &= ~below


def _features(confidence: float) -> Vector:
    x = min(max(confidence, EDGE), 1 - EDGE)
    return log(x), -log1p(-x), 1.0


def _newton(rows: Any, prior: Any, weight: float, free: Any) -> Any:
    """The minimum of the loss by Newton's method; steps that go too far are halved. What isn't `free` stays 0.

    `rows`: for each confidence its three features, the number of spans, and of right ones. The loss is the negative
    log-likelihood plus the penalty.
    """
    import numpy as np

    features, spans, right = rows[:, :3], rows[:, 3], rows[:, 4]

    def loss_of(parameters: Any) -> float:
        logits, away = features @ parameters, parameters - prior
        return float(weight / 2 * away @ away + (spans * np.logaddexp(0, logits) - right * logits).sum())

    now = np.where(free, prior, 0.0)
    loss = loss_of(now)
    for _ in range(_ROUNDS):
        shares = np.exp(-np.logaddexp(0, -(features @ now)))
        gradient = weight * (now - prior) + features.T @ (spans * shares - right)
        bend = weight * np.eye(3) + (features.T * (spans * shares * (1 - shares))) @ features
        step, size = np.zeros(3), 1.0
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], gradient[free])
        while (there := loss_of(now - size * step)) > loss and size >= _ENOUGH:
            size /= 2
        gain, now, loss = loss - there, now - size * step, there
        if gain <= _ENOUGH * (1 + abs(loss)):
            break
    return now


# Calibration curves by label: a label's own curve if it has enough examples, else the curve of all labels.


# A calibration needs at least this many spans over all labels.
LEAST: Final = 50
# A label with fewer spans uses the curve of all labels; with more it gets its own curve, with that one as the prior.
LEAST_OWN: Final = 20
# The weight of the prior (see `curves.fit`): the identity for the curve of all labels, that curve for a label's own.
POOL_WEIGHT: Final = 1.0
LABEL_WEIGHT: Final = 5.0
METHOD: Final = "beta-1"


class TooFew(WordedError, ValueError):
    """There are too few spans for a calibration."""


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
class FittedCalibration:
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


def fitted(outcomes: Outcomes, added: Outcomes | None = None) -> FittedCalibration:
    """Fit the curves and measure their reliability. Raises TooFew.

    `added`: spans that only a masking threshold adds. LEAST_OWN or more of them get one curve; they have no figures.
    """
    spans = sum(n for _, n, _ in outcomes.points())
    if spans < LEAST:
        raise TooFew(
            "There are too few spans with a confidence ({count}). A calibration needs at least {least}.", spans, LEAST
        )
    after = _cross_fitted(outcomes)
    return FittedCalibration(
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
