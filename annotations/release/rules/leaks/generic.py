"""Generic words, which may stay in a released text although a labeled string contains them: hospital, calle, marzo.

The lists are our own: words of institutions, streets, departments, months, weekdays, units and the like, one language
in each file. A comment starts with "#".
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from annotations.text.folding import words

LANGUAGES: Final = ("en", "es", "it")


def generic_words(languages: Iterable[str]) -> frozenset[str]:
    """The folded generic words of these languages; of all three if none of them is known."""
    known = [language for language in LANGUAGES if language in set(languages)]
    return _of(tuple(known or LANGUAGES))


@cache
def _of(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(_listed(language) for language in languages))


def _listed(language: str) -> frozenset[str]:
    text = (Path(__file__).parent / "data" / f"generic_{language}.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(word for line in lines for word in words(line))
