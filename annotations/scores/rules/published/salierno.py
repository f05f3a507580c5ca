"""Salierno et al. 2024: GiusBERTo on decisions of the Italian Court of Auditors."""

from typing import Final

from annotations.scores.rules.published.tables import RATES, Column, Row, Table

CORPUS: Final = "Decisions of the Court of Auditors (Italian)"
UNIT: Final = "sub-word token"
LEVEL: Final = "O, B-OMISSIS, I-OMISSIS"

FINE_TUNED: Final = Table(
    source="Salierno et al. 2024, section 6.2 (figure 4)",
    title="validation set, fine-tuned with a reweighted loss",
    corpus=CORPUS,
    columns=tuple(Column(measure, UNIT, LEVEL) for measure in ("accuracy", *RATES)),
    rows=(Row((0.9712, 0.85, 0.9246, 0.8864), system="GiusBERTo", grouping="512 tokens"),),
    notes=(
        "Argmax of each token. The source doesn't say over which labels precision, recall and F1 are averaged, so no "
        "level of a score corresponds to them.",
        "Printed in percent; precision as 85% without decimals.",
        "By the label counts of the same section, O for every token would have accuracy 0.9917.",
        "Without reweighting, accuracy was 0.90. F1 by label is only in figure 3, an image.",
    ),
)

LABEL_COUNTS: Final = Table(
    source="Salierno et al. 2024, table 6",
    title="BIO labels in 122,237 decisions",
    corpus=CORPUS,
    columns=(Column("tokens"), Column("tokens per document")),
    rows=(
        Row((169191040, 1384.12), label="O"),
        Row((927195, 7.59), label="B-OMISSIS"),
        Row((504975, 4.13), label="I-OMISSIS"),
    ),
    row_head="Label",
    digits=2,
)

FILL_MASK: Final = Table(
    source="Salierno et al. 2024, table 1",
    title="most probable words for [MASK] after pre-training on decisions",
    corpus="“Con ricorso ritualmente [MASK] parte ricorrente ha chiesto …”",
    columns=(Column("probability"),),
    rows=(
        Row((0.994,), label="notificato"),
        Row((0.005,), label="depositato"),
        Row((0.0003,), label="sottoscritto"),
        Row((0.00006,), label="separato"),
        Row((0.00006,), label="presentato"),
    ),
    row_head="Word",
    digits=5,
)
