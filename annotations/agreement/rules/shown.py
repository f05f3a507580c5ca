"""The JSON form of the figures of agreement, as they are stored, and of a coefficient with its interval.

A key that is added, removed or renamed needs a new `figures.VERSION`, so that stored figures are computed again.
"""

from typing import NotRequired, TypedDict

from annotations.agreement.rules.bootstrap import Interval
from annotations.agreement.rules.coefficients import Value


class Figure(TypedDict):
    """A coefficient: `why` is the reason for a missing value, `no_interval` for a missing interval."""

    value: float | None
    why: str
    low: float | None
    high: float | None
    no_interval: str


class OverUnits(Figure):
    """A coefficient of some units only."""

    units: int


class Marked(TypedDict):
    """The figures without the units that nobody labeled."""

    units: int
    observed: Figure
    alpha: Figure


class LabelFigures(TypedDict):
    """One value against all others. `full`: units that all annotators gave this value."""

    value: str
    units: int
    full: int
    alpha: Figure


class PairFigures(TypedDict):
    """Two annotators. `spans`: how many spans each of them marked."""

    a: str
    b: str
    notes: int
    units: int
    observed: Figure
    kappa: Figure
    exact: Figure
    overlap: Figure
    spans: list[int]


class RoundFigures(TypedDict):
    """The notes of one round of the guidelines. `mixed`: notes that were annotated in several rounds."""

    round: int
    notes: int
    mixed: int
    units: int
    observed: Figure
    alpha: Figure
    alpha_marked: Figure


class NoteFigures(TypedDict):
    """One note. `differing`: units on which not all annotators agree."""

    note: int
    round: int
    annotators: int
    units: int
    differing: int
    observed: float | None
    alpha: float | None
    why: str


class GranularityFigures(TypedDict):
    """The figures at one granularity. Those by note are stored apart."""

    units: int
    unmarked: int
    observed: Figure
    alpha: Figure
    marked: Marked
    fleiss: OverUnits
    full: Figure
    majority: Figure
    labels: list[LabelFigures]
    pairs: list[PairFigures]
    rounds: list[RoundFigures]
    per_note: NotRequired[list[NoteFigures]]


class RecallOfNumber(Figure):
    """The estimated recall of this number of annotators; `projected` if no note had as many."""

    annotators: int
    projected: bool


class RecallOfAnnotator(Figure):
    """The estimated recall of one annotator."""

    annotator: str


class Recall(TypedDict):
    """The spans found, the estimated spans that nobody found, and the recall of annotators."""

    found: float
    hidden: float | None
    annotators: list[RecallOfNumber]
    each: list[RecallOfAnnotator]


class Bootstrap(TypedDict):
    """How intervals were computed."""

    level: float
    samples: int
    seed: int
    over: str


class AgreementFigures(TypedDict):
    """All figures of one unit: `granularities` by granularity, `recall` by matching."""

    version: int
    unit: str
    notes: int
    annotators: list[str]
    mixed: int
    interval: Bootstrap
    granularities: dict[str, GranularityFigures]
    recall: dict[str, Recall]


def shown(value: Value, around: Interval | None = None) -> Figure:
    """The JSON form of a coefficient with its interval."""
    interval = around if around is not None and value.value is not None else Interval()
    return {
        "value": value.value,
        "why": value.why,
        "low": interval.low,
        "high": interval.high,
        "no_interval": interval.why,
    }
