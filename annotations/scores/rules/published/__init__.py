"""Published figures of other systems on other corpora, as printed, for orientation only.

One module per source, or per use case of a long one. Every number was copied from the text of the source; tables whose
text is incomplete are left out, or say what they lack. The order of the sources is that of `docs/references.md`.
"""

from collections.abc import Mapping
from typing import Final

from annotations.scores.rules.published import (
    catelli_corpora,
    catelli_english,
    catelli_italian,
    catelli_transfer,
    miranda,
    salierno,
    singh,
    xu,
)
from annotations.scores.rules.published.tables import Headline, Row, Table

__all__ = ["ALL", "ON_PAGE", "Headline", "Row", "Table", "headlines"]

_LEVELS: Final = (
    catelli_english.BY_GROUPING,
    catelli_english.BERT,
    catelli_english.OTHERS,
    catelli_italian.BY_EMBEDDINGS,
    catelli_transfer.BY_STRATEGY,
)
_CORPORA: Final = (
    miranda.ENTITIES,
    catelli_corpora.I2B2_ENTITIES,
    catelli_corpora.SIRM_ENTITIES,
    catelli_corpora.SIRM_BY_CATEGORY,
    catelli_corpora.SIRM_SIZES,
    catelli_corpora.STRATEGIES,
    catelli_corpora.TOKENS_BY_GROUPING,
    catelli_italian.TOKENS_PER_ENTITY,
    salierno.LABEL_COUNTS,
)

# What each page shows. "rewritten" is for scores of the rewritten text, by counting and by judges.
ON_PAGE: Final[Mapping[str, tuple[Table, ...]]] = {
    "agreement": (catelli_italian.AGREEMENT,),
    "gold": _CORPORA,
    "rewritten": (miranda.BY_MODEL,),
    "scores": (
        xu.REFINED,
        *_LEVELS,
        catelli_english.BEST_BY_SUBCATEGORY,
        catelli_english.BEST_BY_CATEGORY,
        catelli_english.BEST_BINARY,
        catelli_italian.BEST_BY_SUBCATEGORY,
        catelli_italian.BEST_BY_CATEGORY,
        catelli_italian.BEST_BINARY,
        salierno.FINE_TUNED,
        singh.ANY_LABEL,
        singh.BY_LABEL,
        singh.ALL_OR_NOTHING,
    ),
    "compared": (
        xu.REFINED,
        *_LEVELS,
        catelli_english.ABLATION,
        catelli_transfer.EMBEDDINGS,
        singh.ANY_LABEL,
        singh.ALL_OR_NOTHING,
    ),
    "injections": (xu.INJECTED,),
    "refinements": (xu.EFFORT, xu.REFINED),
    "strategies": (catelli_transfer.BY_STRATEGY,),
}
# Tables of experiments that the app can't repeat yet; docs/sources.md says what is missing.
_UNREPEATED: Final = (salierno.FILL_MASK,)

ALL: Final = tuple(dict.fromkeys(table for tables in (*ON_PAGE.values(), _UNREPEATED) for table in tables))


def headlines(unit: str, level: str) -> list[Headline]:
    """Return the F1 of each headline row at a level, in the order of the sources."""
    return [
        Headline(value, table.corpus, row.name)
        for table in _LEVELS
        for row in table.rows
        if row.headline
        for column, value in zip(table.columns, row.figures, strict=True)
        if (column.unit, column.level, column.measure) == (unit, level, "F1") and value is not None
    ]
