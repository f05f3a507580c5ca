"""Agreement between annotators: units, granularities, coefficients, intervals and estimated recall.

`figures` computes everything that the page and the command show, from the parts in the other modules.
"""

from annotations.agreement.rules.capture import Matching
from annotations.agreement.rules.coefficients import Agreement, agreement, cohen, fleiss, in_words
from annotations.agreement.rules.figures import VERSION, Setup, figures
from annotations.agreement.rules.shown import (
    AgreementFigures,
    Figure,
    GranularityFigures,
    LabelFigures,
    NoteFigures,
    PairFigures,
    Recall,
    RecallOfAnnotator,
    RecallOfNumber,
    RoundFigures,
)
from annotations.agreement.rules.units import (
    MARKED,
    ComparedUnit,
    Granularity,
    NoteAnnotationSets,
    Pattern,
    by_note,
    coarser,
    granularities,
    patterns,
    unmarked,
)

__all__ = [
    "MARKED",
    "VERSION",
    "Agreement",
    "AgreementFigures",
    "ComparedUnit",
    "Figure",
    "Granularity",
    "GranularityFigures",
    "LabelFigures",
    "Matching",
    "NoteAnnotationSets",
    "NoteFigures",
    "PairFigures",
    "Pattern",
    "Recall",
    "RecallOfAnnotator",
    "RecallOfNumber",
    "RoundFigures",
    "Setup",
    "agreement",
    "by_note",
    "coarser",
    "cohen",
    "figures",
    "fleiss",
    "granularities",
    "in_words",
    "patterns",
    "unmarked",
]
