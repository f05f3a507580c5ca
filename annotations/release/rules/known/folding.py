"""Words compared without case, accents and invisible characters."""

import re
from functools import lru_cache
from typing import Final

from annotations.text import search as folding

_WORDS: Final = re.compile(r"[^\W_]+")
fold = lru_cache(maxsize=1 << 16)(folding.folded)
"""The word in the form in which all identifiers are compared (`domain.folding`)."""


def folded(text: str) -> str:
    """The text in lower case without accents, with one space between its words, and nothing else."""
    return " ".join(_WORDS.findall(fold(text)))
