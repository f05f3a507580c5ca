"""Mappings between the shipped label sets, for scoring a project in the labels of another set."""

import json
from functools import cache
from pathlib import Path

from django.conf import settings

from annotations.text.labels import LabelMapping, LabelSetDef, parse_label_set


@cache
def mappings() -> dict[tuple[str, str], LabelMapping]:
    """Every shipped mapping by (from, to)."""
    file = Path(settings.FIXTURES_DIR, "label_sets", "mappings.json")
    return {
        (row["from"], row["to"]): LabelMapping(row["from"], row["to"], row["labels"], row["level"] == "category")
        for row in json.loads(file.read_text(encoding="utf-8"))
    }


@cache
def shipped_set(key: str) -> LabelSetDef:
    """A shipped label set. Raises FileNotFoundError if no set has this key."""
    file = Path(settings.FIXTURES_DIR, "label_sets", f"{key}.json")
    return parse_label_set(json.loads(file.read_text(encoding="utf-8")))


def mapped_sets(key: str) -> list[LabelSetDef]:
    """The label sets that the shipped set `key` can be mapped into."""
    return [shipped_set(target) for source, target in mappings() if source == key]
