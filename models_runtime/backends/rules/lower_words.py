"""Words and expressions for text in lower case, shared by its fields (`lower_fields`) and its prose (`recasing`)."""

import re
from functools import cache
from typing import Final, NamedTuple

from models_runtime.backends.rules.en import names as en
from models_runtime.backends.rules.es import names as es
from models_runtime.backends.rules.gazetteers import either, listed, word_set
from models_runtime.backends.rules.it import names as it
from models_runtime.backends.rules.phrases import LETTER

LONGEST_LINE: Final = 400
"""Characters of a field or of a line with an e-mail address or a street, at most; longer ones are prose."""

ADDRESS: Final = re.compile(
    rf"@|(?<![a-zà-ÿ])(?:c/|(?:{either('street_types_es', 'street_types_it')}|hospital|ospedale)\b)"
    r"[^\n]{0,120}(?<![0-9])[0-9]{5}(?![0-9])"
    r"|(?<![0-9.,])[0-9]{1,5}[ ](?:[a-z]+[ ]){1,2}(?:street|avenue|road|lane|drive|boulevard|blvd|ave|rd|ln)"
    r"(?:[.,\r]|\Z|[ ](?:apt|suite|unit)\b)"
)
"""An e-mail address, a street or hospital with a postal code, an English street with a number. For short lines only."""
_WORD: Final = re.compile(rf"{LETTER}+")

EVERYDAY: Final = frozenset(listed("everyday_names", "eponym_given"))
ORDINARY: Final = frozenset(listed("lower_words"))
STREETS: Final = frozenset(listed("street_types_es", "street_types_it")) | {"c"}
PARTICLES: Final = frozenset(listed("name_particles"))
SMALL: Final = PARTICLES.union(
    listed("phrase_links", "place_prepositions"), ("con", "por", "para", "per", "with", "of", "su", "un", "una")
)
TITLES: Final = frozenset(listed("lower_titles"))


SPEECH: Final = (es.WORDS, it.WORDS, en.WORDS)
"""The words around persons' names in each language."""


class Word(NamedTuple):
    """A word with its bounds in its line."""

    start: int
    end: int
    word: str

    def is_initial(self, line: str) -> bool:
        """Whether the word is one letter with a period."""
        return len(self.word) == 1 and line.startswith(".", self.end)


def words_of(line: str, start: int = 0) -> list[Word]:
    """The words of a line from `start` on."""
    return [Word(*match.span(), match[0]) for match in _WORD.finditer(line, start)]


@cache
def prose() -> frozenset[str]:
    """Words of sentences, which begin no name."""
    groups = ("sentence_starts", "statuses", "persons", "relations", "place_prepositions", "months", "weekdays")
    things = ("eponym_heads", "eponym_tails", "eponym_name_tails", "town_tails", "named_after_tails")
    verbs = (word for words in SPEECH for word in (*words.does, *words.has))
    return word_set("not_names").union(
        listed(*groups), listed("lower_prose", "work_es", "work_it", "work_en"), listed(*things), verbs
    )
