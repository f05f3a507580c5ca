"""The JSON form of the figures of agreement, as they are stored, and of a coefficient with its interval.

A key that is added, removed or renamed needs a new `figures.VERSION`, so that stored figures are computed again.
"""

from typing import NotRequired

from typing_extensions import TypedDict

from annotations.agreement.rules.bootstrap import Interval
from annotations.agreement.rules.coefficients import Value


class AgreementFigure(TypedDict):
    """A coefficient with its interval. `why` says why there is no value, `no_interval` why there is no interval."""

    value: float | None
    why: str
    low: float | None
    high: float | None
    no_interval: str


class AgreementFigureOverUnits(AgreementFigure):
    """A coefficient of some units only."""

    units: int


class MarkedFigures(TypedDict):
    """The figures without the units that nobody labeled."""

    units: int
    observed: AgreementFigure
    alpha: AgreementFigure


class AgreementOfLabel(TypedDict):
    """One value against all others. `full`: units that all annotators gave this value."""

    value: str
    units: int
    full: int
    alpha: AgreementFigure


class AgreementOfPair(TypedDict):
    """Two annotators. `kappa` is Cohen's; `exact` and `overlap` are F1. `spans`: how many each of them marked."""

    a: str
    b: str
    notes: int
    units: int
    observed: AgreementFigure
    kappa: AgreementFigure
    exact: AgreementFigure
    overlap: AgreementFigure
    spans: list[int]


class RoundFigures(TypedDict):
    """The notes of one round of the guidelines. `mixed`: notes that were annotated in several rounds."""

    round: int
    notes: int
    mixed: int
    units: int
    observed: AgreementFigure
    alpha: AgreementFigure
    alpha_marked: AgreementFigure


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


class AgreementOfNote(NoteFigures):
    """One note. `differing`: units on which not all annotators agree."""

    name: str


class OverallFigures(TypedDict):
    """The figures at one granularity over all notes."""

    units: int
    unmarked: int
    observed: AgreementFigure
    alpha: AgreementFigure
    marked: MarkedFigures
    fleiss: AgreementFigureOverUnits
    full: AgreementFigure
    majority: AgreementFigure
    labels: list[AgreementOfLabel]
    pairs: list[AgreementOfPair]


class GranularityFigures(OverallFigures):
    """The figures at one granularity. Those by note are stored apart."""

    rounds: list[RoundFigures]
    per_note: NotRequired[list[NoteFigures]]


class RecallOfNumber(AgreementFigure):
    """The estimated recall of this number of annotators; `projected` if no note had as many."""

    annotators: int
    projected: bool


class RecallOfAnnotator(AgreementFigure):
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


def shown(value: Value, around: Interval | None = None) -> AgreementFigure:
    """The JSON form of a coefficient with its interval."""
    interval = around if around is not None and value.value is not None else Interval()
    return {
        "value": value.value,
        "why": value.why,
        "low": interval.low,
        "high": interval.high,
        "no_interval": interval.why,
    }
