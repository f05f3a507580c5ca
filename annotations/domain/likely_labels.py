"""The labels that an unknown label of a file probably means."""

import re
from collections.abc import Mapping
from typing import Final

from rapidfuzz import fuzz, process

SHOWN: Final = 3
# Below this likeness (0 to 100) a suggestion misleads more often than it helps.
ALIKE: Final = 70


def likely_labels(name: str, labels: Mapping[str, str]) -> list[str]:
    """The codes that are most like `name`, the best first. `labels` maps codes and names of labels to codes."""
    plain = {known: _plain(known) for known in labels}
    found = process.extract(_plain(name), plain, scorer=fuzz.WRatio, score_cutoff=ALIKE, limit=None)
    return list(dict.fromkeys(labels[known] for _, _, known in found))[:SHOWN]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name).casefold().strip()
