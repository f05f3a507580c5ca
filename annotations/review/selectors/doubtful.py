"""Doubtful suggestions of language models (domain.doubtful). An act that decides on many suggestions skips them.

A reviewer decides on each of them, or includes them in the act.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Q

# Only doubtful suggestions have this key in their provenance.
_KEY: Final = "unsupported"
DOUBTFUL: Final = Q(provenance__has_key=_KEY)


def is_doubtful(provenance: Mapping[str, Any] | None) -> bool:
    """Whether a suggestion with this provenance is doubtful."""
    return provenance is not None and _KEY in provenance
