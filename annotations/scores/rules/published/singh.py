"""Singh et al. 2025: RedactOR and others on a sample of i2b2 2014."""

from typing import Final

from annotations.scores.rules.published.tables import RATES, Column, Row, Table, measured

CORPUS: Final = "i2b2 2014, 100 sampled notes (English)"
UNIT: Final = "entity, text similarity of at least 0.6 and position"
SYSTEMS: Final = ("RedactOR", "AWS", "JSL")

ANY_LABEL: Final = Table(
    source="Singh et al. 2025, table 1",
    title="all entities, any label, with all-or-nothing recall",
    corpus=CORPUS,
    columns=(*measured(UNIT, "any label", *RATES), Column("recall", "all or nothing", "any label")),
    rows=(
        Row((0.5634, 0.6580, 0.6070, 0.37), system="Yashwanth and Shettar 2024, brief prompt (GPT-4o)"),
        Row((0.6178, 0.8270, 0.7072, 0.56), system="Yashwanth and Shettar 2024, detailed prompt (GPT-4o)"),
        Row((0.9675, 0.6715, 0.7927, 0.36), system="Altalla' et al. 2025 (GPT-4o)"),
        Row((0.9769, 0.9525, 0.9646, 0.79), system="RedactOR (GPT-4o)", grouping="256 words, 2 passes"),
        Row((0.9549, 0.9425, 0.9487, 0.75), system="AWS"),
        Row((0.9481, 0.9865, 0.9669, 0.90), system="JSL"),
    ),
    notes=(
        "Section 4.3 restricts all-or-nothing recall to PERSON, AGE, CONTACT, ID and LOCATION; table 3 also has DATE "
        "and PROFESSION.",
    ),
)

BY_LABEL: Final = Table(
    source="Singh et al. 2025, table 2",
    title="by label, same label required",
    corpus=CORPUS,
    columns=tuple(Column(measure, system) for system in SYSTEMS for measure in ("recall", "precision", "F1")),
    rows=(
        Row((0.8987, 0.9930, 0.9435, 0.9684, 0.9935, 0.9808, 0.9748, 0.9688, 0.9718), label="AGE"),
        Row((1.0000, 1.0000, 1.0000, 1.0000, 0.4545, 0.6250, 0.7879, 1.0000, 0.8814), label="CONTACT"),
        Row((0.9495, 0.9988, 0.9735, 0.9202, 0.9949, 0.9561, 0.9918, 0.9883, 0.9900), label="DATE"),
        Row((0.9275, 0.6667, 0.7758, 0.7917, 0.6129, 0.6909, 0.8667, 0.9123, 0.8889), label="ID"),
        Row((0.7855, 1.0000, 0.8799, 0.7890, 0.9820, 0.8750, 0.9469, 0.9808, 0.9636), label="LOCATION"),
        Row((0.9595, 0.9912, 0.9751, 0.9461, 0.9461, 0.9461, 0.9572, 0.9933, 0.9749), label="PERSON"),
        Row((0.9167, 1.0000, 0.9565, 0.9130, 0.7778, 0.8400, 1.0000, 0.9565, 0.9778), label="PROFESSION"),
        Row((0.9159, 0.9790, 0.9465, 0.9042, 0.9510, 0.9270, 0.9664, 0.9839, 0.9751), label="All"),
    ),
    row_head="Label",
    notes=(
        "The source prints recall before precision.",
        "The text says that RedactOR outperforms AWS on CONTACT by its recall, but both have 1.0000.",
    ),
)

ALL_OR_NOTHING: Final = Table(
    source="Singh et al. 2025, table 3",
    title="all-or-nothing recall by label, same label and position required",
    corpus=CORPUS,
    columns=tuple(Column("recall", system) for system in SYSTEMS),
    rows=(
        Row((0.8904, 0.9589, 0.9452), label="AGE"),
        Row((1.0000, 1.0000, 0.7666), label="CONTACT"),
        Row((0.7300, 0.6000, 0.9500), label="DATE"),
        Row((0.8958, 0.8333, 0.8541), label="ID"),
        Row((0.6923, 0.6026, 0.8333), label="LOCATION"),
        Row((0.8556, 0.8041, 0.8659), label="PERSON"),
        Row((0.9091, 0.9090, 1.0000), label="PROFESSION"),
        Row((0.8214, 0.7701, 0.8906), label="All"),
    ),
    row_head="Label",
    notes=("The text says that RedactOR excels in CONTACT against AWS, but both have 1.0000.",),
)
