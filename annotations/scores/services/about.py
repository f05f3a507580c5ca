"""What is said beside the figures of a score. It isn't stored with them, since it may change later."""

from typing import TypedDict

from annotations.scores.selectors import learned_notes, masking_threshold
from annotations.scores.services.error_table import ErrorTable, error_table
from annotations.scores.services.scoring import Score, ScoreRequest, notes_of


class ScoreContext(TypedDict):
    """The scored notes from which the author's model learned, the errors, and the masking threshold of the run.

    A model may be trained after the score was computed. Without a masking threshold, the value is None.
    """

    notes_learned_from: int
    errors_by_category: ErrorTable
    masking_threshold: float | None


def about_score(wanted: ScoreRequest, found: Score) -> ScoreContext:
    return {
        "notes_learned_from": learned_notes(wanted.author, notes_of(wanted).notes),
        "errors_by_category": error_table(wanted, found),
        "masking_threshold": masking_threshold(wanted.author),
    }
