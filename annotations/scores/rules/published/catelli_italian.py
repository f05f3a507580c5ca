"""Catelli 2021, second use case: SIRM COVID-19 in Italian, sections 3.1.2 and 4.2."""

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

CORPUS: Final = "SIRM COVID-19 (Italian)"
BILSTM: Final = "Bi-LSTM + CRF"
STACKED: Final = "FastText + Flair"
MEANS: Final = "The printed F1 of some rows differs from that of the printed rates; the source doesn't say why."

AGREEMENT: Final = Table(
    source="Catelli 2021, section 3.1.2",
    title="agreement of three annotators",
    corpus=CORPUS,
    columns=(Column("observed agreement"), Column("Krippendorff's α")),
    rows=(Row((0.68, 0.71), label="Three annotators, 115 notes"),),
    row_head="Annotators",
    notes=(
        "The source names neither the unit nor the level. With chance agreement above 0, α can't exceed the observed "
        "agreement over the same units, so the two figures can't have been computed over the same units.",
    ),
    digits=2,
)

BY_EMBEDDINGS: Final = Table(
    source="Catelli 2021, table 4.11",
    title="micro F1 by model and embeddings, trained on Italian notes",
    corpus=CORPUS,
    columns=SIX_LEVELS,
    rows=(
        Row((0.7034, 0.7130, 0.7297, 0.7821, 0.8155, 0.8395), system=BILSTM, embeddings="FastText"),
        Row((0.8100, 0.8224, 0.8289, 0.8797, 0.9045, 0.9211), system=BILSTM, embeddings="Flair"),
        Row((0.8063, 0.8294, 0.8308, 0.8850, 0.9116, 0.9211), system=BILSTM, embeddings=STACKED, headline=True),
        Row((0.6442, 0.6667, 0.6848, 0.7667, 0.8083, 0.8796), system="BERT base Uncased"),
        Row((0.7553, 0.7880, 0.7969, 0.8561, 0.8979, 0.9260), system="BERT base Cased"),
    ),
    notes=(
        "The text calls FastText + Flair better than Flair alone, but for entities by subcategory the table has 0.8063 "
        "and 0.8100. For tokens, binary, both have 0.9211.",
        "The source names no grouping of sentences. The embeddings are those for Italian.",
    ),
)


def _best(level: str, rows: tuple[Row, ...], *notes: str) -> Table:
    return Table(
        source=f"Catelli 2021, table 4.12 ({level})",
        title=f"{BILSTM}, {STACKED}: rates by label",
        corpus=CORPUS,
        columns=measured("entity", level, *RATES) + measured("token", level, *RATES),
        rows=rows,
        row_head="Label",
        notes=(*notes, MEANS),
    )


BEST_BY_SUBCATEGORY: Final = _best(
    SUBCATEGORY,
    (
        Row((1.0000, 0.8909, 0.9423, 1.0000, 0.8909, 0.9423), label="AGE"),
        Row((0.4872, 0.4191, 0.4494, 0.8452, 0.4804, 0.6108), label="CITY"),
        Row((0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000), label="COUNTRY"),
        Row((0.9022, 0.7445, 0.8151, 0.9414, 0.6914, 0.7966), label="DATE"),
        Row((0.8893, 0.8312, 0.8590, 0.9825, 0.8659, 0.9203), label="DOCTOR"),
        Row((0.6073, 0.7955, 0.6884, 0.8891, 0.9490, 0.9180), label="HOSPITAL"),
        Row((0.9981, 0.8140, 0.8966, 0.9981, 0.6562, 0.7919), label="IDNUM"),
        Row((0.5000, 0.1000, 0.1643, 0.5000, 0.1000, 0.1643), label="LOCATION OTHER"),
        Row((0.3186, 0.3555, 0.3305, 0.8620, 0.6000, 0.6830), label="ORGANIZATION"),
        Row((0.9600, 0.5428, 0.6897, 0.9600, 0.5428, 0.6897), label="PHONE"),
        Row((0.8773, 0.5778, 0.6960, 1.0000, 0.5692, 0.7246), label="PROFESSION"),
        Row((0.9422, 0.9421, 0.9421, 0.9974, 0.8064, 0.8918), label="URL"),
        Row((0.8323, 0.7819, 0.8063, 0.9408, 0.8355, 0.8850), label="Total"),
    ),
)
BEST_BY_CATEGORY: Final = _best(
    CATEGORY,
    (
        Row((1.0000, 0.8909, 0.9423, 1.0000, 0.8909, 0.9423), label="AGE"),
        Row((0.9426, 0.9084, 0.9251, 0.9951, 0.7881, 0.8796), label="CONTACT"),
        Row((0.9022, 0.7445, 0.8151, 0.9414, 0.6914, 0.7966), label="DATE"),
        Row((0.9981, 0.8140, 0.8966, 0.9981, 0.6562, 0.7919), label="ID"),
        Row((0.6785, 0.7080, 0.6928, 0.9499, 0.9341, 0.9419), label="LOCATION"),
        Row((0.8893, 0.8312, 0.8590, 0.9825, 0.8659, 0.9203), label="NAME"),
        Row((0.8773, 0.5778, 0.6960, 1.0000, 0.5692, 0.7246), label="PROFESSION"),
        Row((0.8626, 0.7986, 0.8294, 0.9691, 0.8606, 0.9116), label="Total"),
    ),
)
BEST_BINARY: Final = _best(
    BINARY,
    (Row((0.8664, 0.7982, 0.8308, 0.9792, 0.8697, 0.9211), label="NAMED ENTITY"),),
)

TOKENS_PER_ENTITY: Final = Table(
    source="Catelli 2021, table 4.13",
    title="tokens, entities and tokens per entity by label",
    corpus=CORPUS,
    columns=(Column("tokens"), Column("entities"), Column("tokens per entity")),
    rows=(
        Row((118, 118, 1.0000), label="AGE"),
        Row((10, 10, 1.0000), label="C:PHONE"),
        Row((160, 142, 1.1268), label="C:URL"),
        Row((200, 154, 1.2987), label="DATE"),
        Row((297, 266, 1.1165), label="I:ID NUMBER"),
        Row((139, 101, 1.3762), label="L:CITY"),
        Row((6, 6, 1.0000), label="L:COUNTRY"),
        Row((1297, 266, 4.8759), label="L:HOSPITAL"),
        Row((56, 13, 4.3077), label="L:ORGANIZATION"),
        Row((9, 9, 1.0000), label="L:OTHER"),
        Row((1564, 733, 2.1337), label="N:DOCTOR"),
        Row((3, 3, 1.0000), label="N:PATIENT"),
        Row((96, 65, 1.4769), label="PROFESSION"),
    ),
    row_head="Label",
    notes=("The rows add up to 3,955 tokens of 1,886 entities, 2.1 tokens per entity; table 3.3 prints 2.2.",),
)
