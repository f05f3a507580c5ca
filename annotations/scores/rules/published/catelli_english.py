"""Catelli 2021, first use case: i2b2 2014 in English, section 4.1."""

from typing import Final

from annotations.scores.rules.published.tables import (
    BINARY,
    CATEGORY,
    RATES,
    SIX_LEVELS,
    SUBCATEGORY,
    Column,
    Row,
    Table,
    measured,
)

CORPUS: Final = "i2b2 2014 (English)"
BILSTM: Final = "Bi-LSTM + CRF"
STACKED: Final = "Flair + GloVe"
MEANS: Final = (
    "Each figure is the mean of five trainings (section 3.3.1), so F1 can differ from that of the printed rates."
)

BY_GROUPING: Final = Table(
    source="Catelli 2021, table 4.1",
    title="micro F1 by the number of sentences that are grouped (SGF)",
    corpus=CORPUS,
    columns=SIX_LEVELS,
    rows=(
        Row((0.9239, 0.9445, 0.9486, 0.9443, 0.9713, 0.9756), system=BILSTM, embeddings=STACKED, grouping="SGF = 1"),
        Row((0.9343, 0.9481, 0.9508, 0.9581, 0.9741, 0.9784), system=BILSTM, embeddings=STACKED, grouping="SGF = 2"),
        Row((0.9409, 0.9523, 0.9559, 0.9631, 0.9760, 0.9805), system=BILSTM, embeddings=STACKED, grouping="SGF = 4"),
        Row((0.9435, 0.9545, 0.9581, 0.9646, 0.9774, 0.9821), system=BILSTM, embeddings=STACKED, grouping="SGF = 8"),
        Row((0.9446, 0.9552, 0.9590, 0.9655, 0.9776, 0.9822), system=BILSTM, embeddings=STACKED, grouping="SGF = 16"),
        Row(
            (0.9480, 0.9579, 0.9614, 0.9678, 0.9792, 0.9832),
            system=BILSTM,
            embeddings=STACKED,
            grouping="SGF = 32",
            headline=True,
        ),
    ),
    notes=(
        "Table 4.2 prints 0.9677 for tokens by subcategory of SGF = 32, instead of 0.9678.",
        MEANS,
    ),
)


def _best(level: str, rows: tuple[Row, ...], *notes: str) -> Table:
    return Table(
        source=f"Catelli 2021, table 4.2 ({level})",
        title=f"{BILSTM}, {STACKED}, SGF = 32: rates by label",
        corpus=CORPUS,
        columns=measured("entity", level, *RATES) + measured("token", level, *RATES),
        rows=rows,
        row_head="Label",
        notes=(*notes, MEANS),
    )


BEST_BY_SUBCATEGORY: Final = _best(
    SUBCATEGORY,
    (
        Row((0.9644, 0.9442, 0.9542, 0.9668, 0.9418, 0.9541), label="AGE"),
        Row((0.8230, 0.8800, 0.8506, 0.8645, 0.9159, 0.8894), label="CITY"),
        Row((0.8029, 0.6615, 0.7254, 0.9228, 0.6985, 0.7951), label="COUNTRY"),
        Row((0.9821, 0.9776, 0.9798, 0.9918, 0.9874, 0.9896), label="DATE"),
        Row((0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000), label="DEVICE"),
        Row((0.9629, 0.9550, 0.9589, 0.9735, 0.9740, 0.9738), label="DOCTOR"),
        Row((1.0000, 1.0000, 1.0000, 1.0000, 1.0000, 1.0000), label="EMAIL"),
        Row((0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000), label="FAX"),
        Row((0.9145, 0.8679, 0.8906, 0.9529, 0.9263, 0.9394), label="HOSPITAL"),
        Row((0.8746, 0.8226, 0.8478, 0.9506, 0.8890, 0.9188), label="IDNUM"),
        Row((0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000), label="LOCATION_OTHER"),
        Row((0.9683, 0.9834, 0.9758, 0.9751, 0.9837, 0.9794), label="MEDICALRECORD"),
        Row((0.7834, 0.5293, 0.6317, 0.9046, 0.5852, 0.7107), label="ORGANIZATION"),
        Row((0.9409, 0.9354, 0.9382, 0.9766, 0.9561, 0.9663), label="PATIENT"),
        Row((0.9729, 0.9684, 0.9706, 0.9858, 0.9778, 0.9818), label="PHONE"),
        Row((0.8511, 0.7665, 0.8066, 0.9575, 0.8238, 0.8856), label="PROFESSION"),
        Row((0.8491, 0.8768, 0.8628, 0.9021, 0.8592, 0.8802), label="STATE"),
        Row((0.8833, 0.9015, 0.8923, 0.9588, 0.9856, 0.9720), label="STREET"),
        Row((0.9955, 0.9565, 0.9756, 0.9955, 0.9565, 0.9756), label="USERNAME"),
        Row((0.9802, 0.9914, 0.9858, 0.9879, 0.9932, 0.9906), label="ZIP"),
        Row((0.9552, 0.9409, 0.9480, 0.9754, 0.9602, 0.9677), label="Total"),
    ),
    "DEVICE, FAX and LOCATION_OTHER have precision 0, although table 4.10 shows no prediction of them: a label that is "
    "in gold and was never predicted counts as 0.",
    "Table 4.1 prints 0.9678 for the total token F1, instead of 0.9677.",
)
BEST_BY_CATEGORY: Final = _best(
    CATEGORY,
    (
        Row((0.9644, 0.9442, 0.9542, 0.9668, 0.9418, 0.9541), label="AGE"),
        Row((0.9796, 0.9697, 0.9746, 0.9953, 0.9815, 0.9883), label="CONTACT"),
        Row((0.9821, 0.9776, 0.9798, 0.9918, 0.9874, 0.9896), label="DATE"),
        Row((0.9588, 0.9386, 0.9486, 0.9838, 0.9645, 0.9740), label="ID"),
        Row((0.9170, 0.8777, 0.8969, 0.9748, 0.9344, 0.9542), label="LOCATION"),
        Row((0.9724, 0.9641, 0.9682, 0.9908, 0.9835, 0.9871), label="NAME"),
        Row((0.8511, 0.7665, 0.8066, 0.9575, 0.8238, 0.8856), label="PROFESSION"),
        Row((0.9653, 0.9506, 0.9579, 0.9870, 0.9716, 0.9792), label="Total"),
    ),
)
BEST_BINARY: Final = _best(
    BINARY,
    (Row((0.9693, 0.9536, 0.9614, 0.9910, 0.9755, 0.9832), label="NAMED ENTITY"),),
)

BERT: Final = Table(
    source="Catelli 2021, table 4.4",
    title="micro F1 of BERT base, maximum sequence length 256 for SGF = 1 and 512 for SGF = 11",
    corpus=CORPUS,
    columns=SIX_LEVELS,
    rows=(
        Row((0.9215, 0.9430, 0.9509, 0.9470, 0.9698, 0.9758), system="BERT base", grouping="SGF = 1"),
        Row((0.9302, 0.9452, 0.9520, 0.9598, 0.9730, 0.9786), system="BERT base", grouping="SGF = 11"),
    ),
)

OTHERS: Final = Table(
    source="Catelli 2021, table 4.5",
    title="micro F1 compared with other systems",
    corpus=CORPUS,
    columns=SIX_LEVELS,
    rows=(
        Row((None, 0.9360, None, None, 0.9611, None), system="H. Yang and Garibaldi 2015"),
        Row((None, 0.9511, 0.9650, None, 0.9698, 0.9828), system="Z. Liu, Tang, et al. 2017"),
        Row((None, 0.9573, None, None, None, None), system="Y. Kim, Heider, and Stéphane M. Meystre 2018"),
        Row((None, 0.9550, 0.9685, None, 0.9748, 0.9870), system="Tang, D. Jiang, et al. 2019"),
        Row((0.9480, 0.9579, 0.9614, 0.9678, 0.9792, 0.9832), system=BILSTM, embeddings=STACKED, grouping="SGF = 32"),
    ),
)

ABLATION: Final = Table(
    source="Catelli 2021, section 4.1.3 (figure 4.3)",
    title="change of F1 in percentage points when a part is removed",
    corpus=CORPUS,
    columns=(Column("change of F1", "entity"), Column("change of F1", "token")),
    rows=(
        Row((-0.33, -0.31), label="GloVe"),
        Row((-7.13, -3.98), label="Flair"),
        Row((-3.69, -2.16), label="Bi-LSTM"),
        Row((-3.13, -1.04), label="CRF"),
        Row((-14.95, -5.7), label="Bi-LSTM and CRF"),
    ),
    row_head="Removed",
    notes=("Figures from the text of the section, which doesn't name the level; figure 4.3 itself is an image.",),
    digits=2,
)
