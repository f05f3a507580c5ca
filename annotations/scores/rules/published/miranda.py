"""Miranda et al. 2025: notes rewritten by language models, scored by counting and by judges.

Our copy of the article has lost table 2, the box plots of figure 3 and the bars of figure 2. What its text repeats of
table 2 is here; for llama3.2 3b and most figures by judges and by age, the text has none.
"""

from typing import Final

from annotations.scores.rules.published.tables import Column, Row, Table

CORPUS: Final = "CLinkaRT, 80 clinical cases (Italian)"
COUNTED: Final = "counted in the rewritten text"
JUDGED: Final = "majority of three judges"
LABELS: Final = ("NAME", "LOCATION/ADDRESS", "DATE", "AGE")

ENTITIES: Final = Table(
    source="Miranda et al. 2025, table 1",
    title="annotated entities by label",
    corpus=CORPUS,
    columns=(Column("entities"),),
    rows=(
        Row((47,), label="DATE"),
        Row((101,), label="AGE"),
        Row((34,), label="LOCATION/ADDRESS"),
        Row((46,), label="NAME"),
    ),
    row_head="Label",
    notes=("Our copy has the labels and the counts in two lists; they are paired by their order.",),
)

BY_MODEL: Final = Table(
    source="Miranda et al. 2025, table 2, as far as section 4.4 repeats it",
    title="F1 by model and label, counted and judged",
    corpus=CORPUS,
    columns=tuple(Column("F1", unit, label) for unit in (COUNTED, JUDGED) for label in LABELS),
    rows=(
        Row((None, None, 0.12, None, None, None, 0.47, 0.56), system="gemma3 1b"),
        Row(
            (0.73, 0.75, 0.27, None, None, None, 0.40, None),
            system="gemma3 4b",
            note="The text also gives F1 0.57 for AGE, the highest of all, without saying by which method.",
        ),
        Row(
            (0.81, 0.88, 0.65, None, 0.40, 0.64, None, None),
            system="gemma3 12b",
            note="DATE, counted: the text gives a range of 0.65 to 0.88 for three labels, two of which it also names.",
        ),
        Row((0.77, None, 0.37, None, None, None, 0.38, None), system="mistral 7b"),
        Row((None, None, 0.33, None, None, None, 0.41, None), system="phi4 14b"),
    ),
    notes=(
        "Our copy has lost the table; the figures are those of the text, and llama3.2 3b is missing.",
        "Entities count as removed by plain text search, which also finds 5 in 15.",
        "The abstract gives F1 from 0.65 to 0.81 by counting, but LOCATION/ADDRESS of gemma3 12b has 0.88.",
    ),
    digits=2,
)


def counted_f1() -> dict[str, dict[str, float]]:
    """The F1 of each model by label, counted in the rewritten text, as far as table 2 is known."""
    return {
        row.system: {
            column.level: value
            for column, value in zip(BY_MODEL.columns, row.figures, strict=True)
            if column.unit == COUNTED and value is not None
        }
        for row in BY_MODEL.rows
    }


COUNTED_LABELS: Final = tuple(label for label in LABELS if any(label in found for found in counted_f1().values()))
