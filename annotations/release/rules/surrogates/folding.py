"""Equal texts: without case, accents and punctuation; and the style in which a word is written."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_MARKS: Final = re.compile(r"[\u0300-\u036f]+")
_OTHER: Final = re.compile(r"[\W_]+")
WORD: Final = re.compile(r"[^\W\d_]+(?:['’´`][^\W\d_]+)*")
"""A word: letters, with apostrophes inside ("O'Brien", "Wilson's")."""
LONG: Final = 4
"""A part of a name with this many letters or more must not stay in a release."""
LONGEST: Final = 1_000
"""A longer text (in code points) is no name, whatever its label says. Taking it apart would take long."""


@lru_cache(maxsize=1 << 15)
def plain(text: str) -> str:
    """The text without accents; case and punctuation stay ("Muñoz" → "Munoz")."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


@lru_cache(maxsize=1 << 15)
def folded(text: str) -> str:
    """The text in lower case, without accents, with one blank for each run of punctuation and white space."""
    return _OTHER.sub(" ", plain(text).casefold()).strip()


@lru_cache(maxsize=1 << 12)
def long_words(text: str) -> frozenset[str]:
    """The folded words of the text with four letters or digits or more."""
    return frozenset(word for word in folded(text).split() if len(word) >= LONG)


def runs(key: str) -> Iterator[str]:
    """Every run of whole words of a folded text: "a b c" has a, a b, a b c, b, b c, c."""
    words = key.split()
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            yield " ".join(words[start:end])


def accented(text: str) -> bool:
    """Whether the text has a letter with an accent or another mark."""
    return not text.isascii() and plain(text) != text


def cased(like: str, word: str) -> str:
    """Write the word in the case of `like`: "WILSON" → "CHANG", "wilson" → "chang", "MIguel" → "ADrián"."""
    letters = [letter for letter in like if letter.isalpha()]
    if not letters:
        return word
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return word.upper()
    if all(letter.islower() for letter in letters):
        return word.lower()
    if len(letters) == 1 or like[1:].islower() or like.istitle() or like[:2] in ("Mc", "De", "Di") or like[:3] == "Mac":
        return word
    return "".join(new.upper() if at < len(like) and like[at].isupper() else new.lower() for at, new in enumerate(word))
