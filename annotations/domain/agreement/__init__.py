"""Agreement between annotators: units, granularities, coefficients, intervals and estimated recall.

`figures` computes everything that the page and the command show, from the parts in the other modules.
"""

from annotations.domain.agreement.capture import Matching
from annotations.domain.agreement.coefficients import Agreement, agreement, cohen, fleiss, in_words
from annotations.domain.agreement.figures import VERSION, Setup, figures
from annotations.domain.agreement.shown import (
    AgreementFigures,
    Figure,
    LabelFigures,
    NoteFigures,
    PairFigures,
    Recall,
    RecallOfAnnotator,
    RecallOfNumber,
    Report,
    RoundFigures,
)
from annotations.domain.agreement.units import (
    MARKED,
    Granularity,
    NoteAnnotationSets,
    Pattern,
    Unit,
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
    "Figure",
    "Granularity",
    "LabelFigures",
    "Matching",
    "NoteAnnotationSets",
    "NoteFigures",
    "PairFigures",
    "Pattern",
    "Recall",
    "RecallOfAnnotator",
    "RecallOfNumber",
    "Report",
    "RoundFigures",
    "Setup",
    "Unit",
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
