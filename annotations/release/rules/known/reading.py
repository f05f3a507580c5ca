"""A note as words and numbers, with an index of where each stands."""

import re
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Final

from rapidfuzz.distance import OSA

from annotations.text import search
from annotations.text.search import DROPPED, lines_of, word_groups

# Words compared without case, accents and invisible characters.


_WORDS: Final = re.compile(r"[^\W_]+")
fold = lru_cache(maxsize=1 << 16)(search.folded)
"""The word in the form in which all identifiers are compared (`annotations.text.search`)."""


def folded(text: str) -> str:
    """The text in lower case without accents, with one space between its words, and nothing else."""
    return " ".join(_WORDS.findall(fold(text)))


_TOKEN: Final = re.compile(rf"[^\W\d_]+(?:[{DROPPED}]+[^\W\d_]*)*|\d+")


LEAST_FOR_TYPO: Final = 5
"""The shortest word in which a typo is looked for."""


def is_typo(own: str, other: str) -> bool:
    """Whether the words differ in one letter, or two letters are exchanged."""
    return -2 < len(own) - len(other) < 2 and OSA.distance(own, other, score_cutoff=1) == 1


class FoldedText:
    """The words (runs of letters) and numbers (runs of digits) of a text, and the folded form of each.

    `starts` and `ends` are code points of the text, end-exclusive.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        bounds = [match.span() for match in _TOKEN.finditer(text)]
        self.starts = [start for start, _end in bounds]
        self.ends = [end for _start, end in bounds]
        self.words = [fold(text[start:end]) for start, end in bounds]
        self.places: dict[str, list[int]] = {}
        places = self.places
        for at, word in enumerate(self.words):
            if word in places:
                places[word].append(at)
            else:
                places[word] = [at]

    def gap(self, at: int) -> str:
        """The text between token `at` and the next one."""
        return self.text[self.ends[at] : self.starts[at + 1]]

    def first(self, at: int) -> str:
        """The first character of a token, as it is written."""
        return self.text[self.starts[at]]

    def capital(self, at: int) -> bool:
        """Whether a word begins with a capital letter."""
        return self.text[self.starts[at]].isupper()

    @cached_property
    def heads(self) -> dict[str, list[str]]:
        """The distinct words of four letters or more by their first two letters."""
        return self._by(slice(0, 2))

    @cached_property
    def tails(self) -> dict[str, list[str]]:
        """The distinct words of four letters or more by their last two letters."""
        return self._by(slice(-2, None))

    def near(self, own: str) -> Iterator[str]:
        """Words with one wrong, missing or additional letter, or two letters exchanged, that are not common words.

        A word of five letters or more with one such error keeps its first two letters or its last two.
        """
        if len(own) >= LEAST_FOR_TYPO:
            for near in {*self.heads.get(own[:2], ()), *self.tails.get(own[-2:], ())}:
                if is_typo(own, near) and near not in common_words():
                    yield near

    def _by(self, part: slice) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self.places:
            if len(word) >= 4 and word[0] > "9":
                found.setdefault(word[part], []).append(word)
        return found


def lone_capital(note: FoldedText, at: int) -> bool:
    """Whether a word is capitalized where an ordinary one is not: after a word in lower case, in the same sentence."""
    start, end = note.starts[at], note.ends[at]
    if at == 0 or not note.text[start].isupper() or note.text[start:end].isupper():
        return False
    if note.gap(at - 1) != " " or not note.first(at - 1).islower():
        return False
    following = note.gap(at) if at + 1 < len(note.words) else ""
    return not (following == " " and note.capital(at + 1))


# Word lists by which the matcher tells names from other words. All are folded.


DATA: Final = Path(__file__).with_name("data")
_GROUPS: Final = word_groups(DATA / "words.txt")


@cache
def common_words() -> frozenset[str]:
    """Words of everyday and clinical language in English, Spanish and Italian."""
    return _words("common.txt")


@cache
def usual_names() -> frozenset[str]:
    """Usual given names and surnames. A usual name that resembles a patient's is probably another person's."""
    return _words("names.txt")


def ordinary(word: str) -> bool:
    """Whether a folded word is a common one, or another form of one: "weeks", "campos", "rossa"."""
    common = common_words()
    if word in common or (len(word) > 4 and word[-1] == "s" and (word[:-1] in common or word[:-2] in common)):
        return True
    return len(word) > 4 and word[-1] in "aeio" and any(word[:-1] + vowel in common for vowel in "aeio")


def _words(file: str) -> frozenset[str]:
    return frozenset(word for line in lines_of(DATA / file) for word in line.split())


def _group(name: str) -> frozenset[str]:
    return frozenset(_GROUPS[name])


# Words inside names that are not names by themselves.
PARTICLES: Final = _group("particles")
# Titles and words for a patient, before a name.
CUES: Final = _group("cues")
# Words that English writes with a capital letter, whoever is meant.
ALWAYS_CAPITAL: Final = _group("always capital")
# Words around a surname that make it the name of a disease, test or device.
EPONYM_HEADS: Final = _group("eponym heads")
EPONYM_TAILS: Final = _group("eponym tails")
# Words before a number that make it an identifier.
NUMBER_CUES: Final = _group("number cues")
# Street types, each with its abbreviations, of which some stand for several.
_LISTED: Final = [line.split() for line in lines_of(DATA / "street_types.txt")]
STREET_TYPES: Final = {
    word: frozenset(words[0] for words in _LISTED if word in words) for listed in _LISTED for word in listed
}
# Words of an address around its numbers.
ADDRESS_WORDS: Final = _group("address words")
