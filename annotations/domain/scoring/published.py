"""Published figures for comparison, from other corpora, languages and systems. For orientation only."""

from dataclasses import dataclass
from typing import Final

Level = tuple[str, str]  # unit, granularity


@dataclass(frozen=True, slots=True)
class Published:
    """The figures of one source, by level; `f1` is micro F1. `source` is cited as in `docs/references.md`."""

    corpus: str
    system: str
    source: str
    f1: dict[Level, float]
    precision: dict[Level, float]
    recall: dict[Level, float]
    all_or_nothing: float | None = None


PUBLISHED: Final = (
    Published(
        "i2b2 2014",
        "BiLSTM-CRF with stacked embeddings, 32 sentences at a time",
        "Catelli 2021, table 4.1",
        {
            ("entity", "subcategory"): 0.9480,
            ("entity", "category"): 0.9579,
            ("entity", "binary"): 0.9614,
            ("token", "subcategory"): 0.9678,
            ("token", "category"): 0.9792,
            ("token", "binary"): 0.9832,
        },
        {},
        {},
    ),
    Published(
        "SIRM COVID-19 (Italian)",
        "the same, trained on Italian notes",
        "Catelli 2021, table 4.11",
        {("entity", "subcategory"): 0.8063, ("entity", "category"): 0.8294, ("entity", "binary"): 0.8308},
        {},
        {},
    ),
    Published(
        "SIRM COVID-19 (Italian)",
        "the same, trained on English, then on Italian",
        "Catelli 2021, table 4.17",
        {("entity", "subcategory"): 0.8391, ("entity", "category"): 0.8595, ("entity", "binary"): 0.8619},
        {},
        {},
    ),
    Published(
        "Court decisions (Italian)",
        "GiusBERTo",
        "Salierno et al. 2024, section 6.2",
        {("token", "binary"): 0.8864},
        {("token", "binary"): 0.85},
        {("token", "binary"): 0.9246},
    ),
    Published(
        "i2b2 2014, a sample",
        "RedactOR",
        "Singh et al. 2025, table 1 (text and position, any label)",
        {("entity", "tolerant"): 0.9646},
        {("entity", "tolerant"): 0.9769},
        {("entity", "tolerant"): 0.9525},
        0.79,
    ),
    Published(
        "CARMEN-ES (Spanish)",
        "a model refined by an agent",
        "Xu et al. 2026 (overlap, any label)",
        {},
        {("overlap", "token"): 0.9795},
        {("overlap", "token"): 0.9539},
    ),
)
