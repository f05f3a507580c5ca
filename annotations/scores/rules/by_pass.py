"""The figures of a run after each of its passes (Singh et al. 2025, section 4.7 and figure 2).

After n passes, the run's suggestions are those of its first n passes. They are the suggestions of a run with n passes,
because a pass adds suggestions and changes none. Only chunks that overlap can differ: if they disagree about a text,
the longest suggestion of all passes is kept.
"""

from typing import TypedDict

from annotations.scores.rules.all_or_nothing import NotesAllFound, Pooled, of_notes
from annotations.scores.rules.rates import RatesData
from annotations.scores.rules.table import ScoreTable, Tolerant


class AfterPass(TypedDict):
    """Figures after `passes` passes. `exact`: spans with the same bounds and label; `tolerant`: text and position.

    `all_or_nothing` counts notes; the others count pairs of a note and a label or category in its gold.
    """

    passes: int
    exact: RatesData
    tolerant: Tolerant
    all_or_nothing: dict[str, NotesAllFound]
    all_or_nothing_pooled: Pooled
    labels: dict[str, dict[str, NotesAllFound]]
    categories: dict[str, dict[str, NotesAllFound]]


def after_pass(passes: int, table: ScoreTable) -> AfterPass:
    """The figures of the suggestions of the first passes, which `table` scores."""
    found = table.as_dict()
    return {
        "passes": passes,
        "exact": found["levels"][0]["micro"],  # spans at the finest level
        "tolerant": found["tolerant"],
        "all_or_nothing": found["all_or_nothing"],
        "all_or_nothing_pooled": found["all_or_nothing_pooled"],
        "labels": {row.label: of_notes(row.all_found, row.notes) for row in table.labels if row.notes},
        "categories": {row.category: of_notes(row.all_found, row.notes) for row in table.categories if row.notes},
    }
