"""Whether a text is written in a language that the rules don't know, by its most frequent short words."""

from typing import Final

from models_runtime.backends.rules.gazetteers import listed

_READ: Final = 1000
"""Characters that are read."""
_LEAST: Final = 3
"""Words of other languages that a text needs at least."""
_SHARE: Final = 12
"""At least one of so many words is such a word."""
_OTHER: Final = frozenset(listed("foreign_words"))
_OWN: Final = frozenset(listed("known_words"))


def is_foreign(text: str) -> bool:
    """Whether short words of other languages are more frequent than those of Italian, Spanish and English."""
    found = text[:_READ].lower().split()
    other = sum(map(_OTHER.__contains__, found))
    return other >= _LEAST and _SHARE * other >= len(found) and other > sum(map(_OWN.__contains__, found))
