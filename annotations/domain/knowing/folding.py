"""Words compared without case and accents."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_WORDS: Final = re.compile(r"[^\W_]+")
# Letters that have no decomposition but are often written otherwise.
_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ð": "d", "þ": "th", "ı": "i"}
)


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """The word in lower case without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold().translate(_LETTERS))
    return "".join(character for character in parts if not unicodedata.combining(character))


def folded(text: str) -> str:
    """The text in lower case without accents, with one space between its words, and nothing else."""
    return " ".join(_WORDS.findall(fold(text)))
