"""Clinical words: words that identify nobody, however they are capitalized and wherever they stand."""

import re
import unicodedata
from functools import cache
from typing import Final

from models_runtime.backends.rules.gazetteers import word_set

# Endings of diagnoses, procedures and drugs in Italian, Spanish and English, that names don't have.
_ENDINGS: Final = (
    r"\w{3,}(?:itis|osis|a?emia|patia|pathy|algia|ectom(?:y|ia)|otomy|scop(?:y|ia)|grafia|terapia|therapy|"
    r"plast(?:y|ia)|statina?|cil?lina?|micina?|mycin|prazol[eo]?|olol[eo]?|sartan|xaban|gliptina?|[zx]umab|ximab)"
)


def is_clinical_word(word: str) -> bool:
    """Whether a word is one of the listed clinical words (`data/clinical.txt`), or has the ending of one."""
    return _pattern().fullmatch(_plain(word)) is not None


def _plain(word: str) -> str:
    """A word in small letters without accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _pattern() -> re.Pattern[str]:
    """The listed words, where `*` stands for any further letters, and the endings."""
    entries = {_plain(entry) for entry in word_set("clinical")}
    listed = (re.escape(entry.removesuffix("*")) + (r"\w*" if entry.endswith("*") else "") for entry in sorted(entries))
    return re.compile("|".join([*listed, _ENDINGS]))
