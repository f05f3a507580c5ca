"""Catelli 2021, the corpora: entities by label and split, and sizes, section 3.1."""

from typing import Final

from annotations.scores.rules.published.tables import Column, Row, Table

I2B2: Final = "i2b2 2014 (English)"
SIRM: Final = "SIRM COVID-19 (Italian)"
BOTH: Final = f"{I2B2} and {SIRM}"

I2B2_ENTITIES: Final = Table(
    source="Catelli 2021, table 3.1",
    title="entities by label and split",
    corpus=I2B2,
    columns=(Column("training"), Column("validation"), Column("test"), Column("total")),
    rows=(
        Row((810, 423, 764, 1997), label="AGE"),
        Row((3, 1, 1, 5), label="CONTACT: EMAIL"),
        Row((5, 3, 2, 10), label="CONTACT: FAX"),
        Row((0, 0, 0, 0), label="CONTACT: IPADDRESS"),
        Row((229, 80, 215, 524), label="CONTACT: PHONE"),
        Row((2, 0, 0, 2), label="CONTACT: URL"),
        Row((5254, 2248, 4980, 12482), label="DATE"),
        Row((0, 0, 0, 0), label="ID: ACCOUNT"),
        Row((1, 0, 0, 1), label="ID: BIO ID"),
        Row((7, 0, 8, 15), label="ID: DEVICE"),
        Row((1, 0, 0, 1), label="ID: HEALTH PLAN"),
        Row((171, 90, 195, 456), label="ID: ID NUMBER"),
        Row((0, 0, 0, 0), label="ID: LICENSE"),
        Row((398, 213, 422, 1033), label="ID: MEDICAL RECORD"),
        Row((0, 0, 0, 0), label="ID: SSN"),
        Row((0, 0, 0, 0), label="ID: VEHICLE"),
        Row((259, 135, 260, 654), label="LOCATION: CITY"),
        Row((53, 13, 117, 183), label="LOCATION: COUNTRY"),
        Row((928, 509, 875, 2312), label="LOCATION: HOSPITAL"),
        Row((85, 39, 82, 206), label="LOCATION: ORGANIZATION"),
        Row((4, 0, 13, 17), label="LOCATION: OTHER"),
        Row((221, 93, 190, 504), label="LOCATION: STATE"),
        Row((144, 72, 136, 352), label="LOCATION: STREET"),
        Row((139, 73, 140, 352), label="LOCATION: ZIP CODE"),
        Row((1932, 953, 1912, 4797), label="NAME: DOCTOR"),
        Row((879, 437, 879, 2195), label="NAME: PATIENT"),
        Row((219, 45, 92, 356), label="NAME: USERNAME"),
        Row((149, 85, 179, 413), label="PROFESSION"),
        Row((11893, 5512, 11462, 28867), label="Total"),
    ),
    row_head="Label",
)

SIRM_ENTITIES: Final = Table(
    source="Catelli 2021, table 3.2 (subcategories)",
    title="entities by subcategory and split",
    corpus=SIRM,
    columns=(Column("training"), Column("test"), Column("total")),
    rows=(
        Row((63, 55, 118), label="AGE"),
        Row((3, 7, 10), label="CONTACT: PHONE"),
        Row((66, 76, 142), label="CONTACT: URL"),
        Row((64, 90, 154), label="DATE"),
        Row((137, 129, 266), label="ID: ID NUMBER"),
        Row((38, 63, 101), label="LOCATION: CITY"),
        Row((1, 5, 6), label="LOCATION: COUNTRY"),
        Row((134, 132, 266), label="LOCATION: HOSPITAL"),
        Row((4, 9, 13), label="LOCATION: ORGANIZATION"),
        Row((3, 6, 9), label="LOCATION: OTHER"),
        Row((303, 430, 733), label="NAME: DOCTOR"),
        Row((3, 0, 3), label="NAME: PATIENT"),
        Row((38, 27, 65), label="PROFESSION"),
    ),
    row_head="Label",
    notes=("Table 3.5 prints other counts: HOSPITAL 131 and ORGANIZATION 8 in test, DOCTOR 302 and 425.",),
)
SIRM_BY_CATEGORY: Final = Table(
    source="Catelli 2021, table 3.2 (categories)",
    title="entities by category and split",
    corpus=SIRM,
    columns=(Column("training"), Column("test"), Column("total")),
    rows=(
        Row((63, 55, 118), label="AGE"),
        Row((69, 83, 152), label="CONTACT"),
        Row((64, 90, 154), label="DATE"),
        Row((137, 129, 266), label="ID"),
        Row((180, 215, 395), label="LOCATION"),
        Row((306, 430, 736), label="NAME"),
        Row((38, 27, 65), label="PROFESSION"),
        Row((857, 1029, 1886), label="Total"),
    ),
    row_head="Category",
    notes=("Table 3.5 prints 856 and 1,022 entities in training and test, instead of 857 and 1,029.",),
)

SIRM_SIZES: Final = Table(
    source="Catelli 2021, table 3.3",
    title="sizes of notes and entities",
    corpus=SIRM,
    columns=(Column("average"),),
    rows=(
        Row((262.8,), label="Tokens per document"),
        Row((16.4,), label="Named entities per document"),
        Row((2.2,), label="Tokens per named entity"),
    ),
    row_head="Size",
    notes=("Table 4.13 has 3,955 tokens of 1,886 entities, which is 2.1 tokens per entity.",),
    digits=1,
)

STRATEGIES: Final = Table(
    source="Catelli 2021, table 3.5",
    title="entities in the training sets and the test set of the training strategies",
    corpus=BOTH,
    columns=(Column("i2b2 training"), Column("SIRM training"), Column("SIRM test")),
    rows=(
        Row((810, 63, 55), label="AGE"),
        Row((3, 0, 0), label="CONTACT: EMAIL"),
        Row((5, 0, 0), label="CONTACT: FAX"),
        Row((229, 3, 7), label="CONTACT: PHONE"),
        Row((2, 66, 76), label="CONTACT: URL"),
        Row((5254, 64, 90), label="DATE"),
        Row((1, 0, 0), label="ID: BIO ID"),
        Row((7, 0, 0), label="ID: DEVICE"),
        Row((1, 0, 0), label="ID: HEALTH PLAN"),
        Row((171, 137, 129), label="ID: ID NUMBER"),
        Row((398, 0, 0), label="ID: MEDICALRECORD"),
        Row((259, 38, 63), label="LOCATION: CITY"),
        Row((53, 1, 5), label="LOCATION: COUNTRY"),
        Row((928, 134, 131), label="LOCATION: HOSPITAL"),
        Row((85, 4, 8), label="LOCATION: ORGANIZATION"),
        Row((4, 3, 6), label="LOCATION: OTHER"),
        Row((221, 0, 0), label="LOCATION: STATE"),
        Row((144, 0, 0), label="LOCATION: STREET"),
        Row((139, 0, 0), label="LOCATION: ZIP CODE"),
        Row((1932, 302, 425), label="NAME: DOCTOR"),
        Row((879, 3, 0), label="NAME: PATIENT"),
        Row((219, 0, 0), label="NAME: USERNAME"),
        Row((149, 38, 27), label="PROFESSION"),
        Row((810, 63, 55), label="AGE"),
        Row((239, 69, 83), label="CONTACT"),
        Row((5254, 64, 90), label="DATE"),
        Row((578, 137, 129), label="ID"),
        Row((1833, 180, 213), label="LOCATION"),
        Row((3030, 305, 425), label="NAME"),
        Row((149, 38, 27), label="PROFESSION"),
        Row((11893, 856, 1022), label="Total"),
    ),
    row_head="Label, then category",
    notes=("Some counts of SIRM COVID-19 differ from table 3.2: HOSPITAL, ORGANIZATION, DOCTOR and their totals.",),
)

TOKENS_BY_GROUPING: Final = Table(
    source="Catelli 2021, table 3.7",
    title="average tokens per grouped sentence by the number of sentences that are grouped (SGF)",
    corpus=I2B2,
    columns=(Column("training"), Column("validation"), Column("test")),
    rows=(
        Row((7.3240, 7.3858, 7.5039), grouping="SGF = 1"),
        Row((14.6150, 14.7432, 14.9676), grouping="SGF = 2"),
        Row((29.1031, 29.4298, 29.8001), grouping="SGF = 4"),
        Row((57.8398, 58.6173, 59.1131), grouping="SGF = 8"),
        Row((113.5571, 115.9395, 116.3578), grouping="SGF = 16"),
        Row((219.2904, 228.6881, 225.3407), grouping="SGF = 32"),
    ),
    row_head="Grouping",
)
