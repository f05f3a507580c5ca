"""What one reading of the held-out notes is worth: exact spans at three granularities and by region, and masking."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotations.domain.scoring import Rates, Scorer
from annotations.domain.scoring.covering import covered_characters
from annotations.domain.scoring.rates import micro
from annotations.domain.spans import Span
from tests.quality.regions import Region, inside, regions

Note = tuple[str, list[Span], list[Span]]
"""Text, gold, what was found."""


def measured(notes: Iterable[Note], category_of: Mapping[str, str]) -> dict[str, Any]:
    """Precision, recall and F1 of exact spans (micro): by subcategory, category, binary, and by region (subcategory).

    `characters`: recall and precision of masking by these spans, whatever their labels; `nothing_left`: the share of
    notes of which no gold character would stay readable.
    """
    whole = Scorer(list(category_of), dict(category_of))
    parts = {region: Scorer(list(category_of), dict(category_of)) for region in Region}
    characters, clean, count = Rates(0, 0, 0, 0), 0, 0
    for text, gold, found in notes:
        whole.add(text, gold, found)
        masked = covered_characters(gold, found)
        characters += masked
        clean += masked.found == masked.gold
        count += 1
        for region, place in regions(text).items():
            parts[region].add(text, inside(gold, place), inside(found, place))
    levels = {
        str(level.granularity): micro(level.classes.values()).as_dict()
        for level in whole.table().levels
        if level.unit == "entity"
    }
    by_region = {
        str(region): micro(scorer.table().levels[0].classes.values()).as_dict() for region, scorer in parts.items()
    }
    return {
        "notes": count,
        "levels": levels,
        "regions": by_region,
        "characters": characters.as_dict(),
        "nothing_left": clean / count if count else None,
    }
