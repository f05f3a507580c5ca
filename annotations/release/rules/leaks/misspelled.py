"""Names with one wrong, missing or additional letter, two letters exchanged, or digits for letters: Petire, Petr1e.

Names of places are sought with other letters, but not with digits, which would cost much and find little.

The text is folded. Offsets are its code points, end-exclusive.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from rapidfuzz.distance import OSA

from annotations.release.rules.known.words import ordinary
from annotations.release.rules.leaks.needles import PART_LETTERS
from annotations.release.rules.leaks.spacing import Respelled

_LEAST: Final = 6
"""The fewest letters of a name that is sought with another letter: a shorter one is one letter from too many words."""

_WORD: Final = re.compile(r"[^\W\d_]+")
# As which letter each digit reads. I and l are one letter here, since 1 may be both.
_READS_AS: Final = {"0": "o", "1": "i", "l": "i", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g"}
_AS_LETTERS: Final = bytes(
    ord(_READS_AS.get(chr(code), chr(code) if chr(code).isalpha() else " ")) for code in range(128)
)
_AS_LETTERS_TABLE: Final = _AS_LETTERS + b" " * 128
_FORMS: Final = {
    letter: f"[{letter}{''.join(sign for sign, read in _READS_AS.items() if read == letter)}]"
    for letter in _READS_AS.values()
}


class Misspelled:
    """The names to look for, by the letters that one error leaves alone: the first three or the last three."""

    def __init__(self) -> None:
        self._heads: defaultdict[str, list[str]] = defaultdict(list)
        self._tails: defaultdict[str, list[str]] = defaultdict(list)
        self._names: set[str] = set()
        self._as_letters: dict[str, str] = {}

    def add(self, found: Iterable[str], with_digits: bool) -> None:
        """Look for these words of a name."""
        for word in found:
            if len(word) < PART_LETTERS or not (word.isascii() and word.isalpha()):
                continue
            if with_digits:
                self._as_letters[_read(word)] = word
            if word in self._names:
                continue
            self._names.add(word)
            if len(word) >= _LEAST:
                self._heads[word[:3]].append(word)
                self._tails[word[-3:]].append(word)
            if len(word) == _LEAST:  # with the two letters in the middle exchanged
                self._heads[word[:2] + word[3]].append(word)

    def find(self, text: str, present: Iterable[str]) -> Iterator[Respelled]:
        """Where these names are misspelled in a folded text with these words."""
        heads, tails = self._heads, self._tails
        near: dict[str, str] = {}
        for word in [word for word in present if len(word) > 4 and (word[:3] in heads or word[-3:] in tails)]:
            if word not in self._names:
                for name in {*heads.get(word[:3], ()), *tails.get(word[-3:], ())}:
                    if OSA.distance(name, word, score_cutoff=1) == 1 and not ordinary(word):
                        near[word] = name
        for found in _WORD.finditer(text) if near else ():
            if found[0] in near:
                yield near[found[0]], *found.span()
        read = _read(text)
        for letters, name in self._as_letters.items():
            for found in (
                re.finditer("".join(_FORMS.get(letter, letter) for letter in letters), text) if letters in read else ()
            ):
                start, end = found.span()
                if not (found[0].isalpha() or text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                    yield name, start, end


def _read(text: str) -> str:
    return text.encode("ascii", "replace").translate(_AS_LETTERS_TABLE).decode()
