"""Forms of texts in which equal ones compare as equal, and the case and separators in which a text is written."""

import random
import re
import string
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
"""A longer text (in code points) is not a name, whatever its label says. Taking it apart would take long."""


@lru_cache(maxsize=1 << 15)
def plain(text: str) -> str:
    """The text without accents; case and punctuation stay ("Muñoz" → "Munoz")."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", text)))


@lru_cache(maxsize=1 << 15)
def folded(text: str) -> str:
    """The text in lower case, without accents, with one space for each run of punctuation and white space."""
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


# Letters and digits of numbers and codes: in a common form, in the format of another number, and replaced at random.


def compact(text: str) -> str:
    """The letters and digits of a number, in capitals."""
    return _OTHER.sub("", text).upper()


def pour(value: str, like: str) -> str:
    """Write the letters and digits of `value` with the separators and the case of `like`.

    If `like` has fewer of them (a telephone number without its country code), the last ones are written; if it has
    more, `value` is written as it is.
    """
    new = [letter for letter in value if letter.isalnum()]
    count = sum(letter.isalnum() for letter in like)
    if count > len(new) or not count:
        return value
    new = new[len(new) - count :]
    out, at = [], 0
    for letter in like:
        if letter.isalnum():
            out.append(new[at].lower() if letter.islower() else new[at])
            at += 1
        else:
            out.append(letter)
    return "".join(out)


def digits(rng: random.Random, count: int) -> str:
    """A string of `count` random digits."""
    return "".join(rng.choice(string.digits) for _ in range(count))


def scrambled(rng: random.Random, text: str, *, loose: bool = False) -> str:
    """Other digits for digits and letters for letters; separators stay, and equal groups stay equal.

    A first digit that isn't 0 stays other than 0. A group of two digits that is the code of a Spanish province, as in
    the numbers of members of a medical association, becomes that of a random province: one that always agreed with the
    note's city would give away the cities that were missed.
    """
    groups = re.findall(r"[0-9]+|[^\W\d_]+", text)
    spanish = (
        not loose
        and sum(len(group) == 2 and "01" <= group <= "52" for group in groups) > 1
        and (len(groups) > 2 or len(set(groups)) < len(groups))
    )
    hexadecimal = bool(re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text.strip()))
    new: dict[str, str] = {}
    for group in groups:
        if group in new:
            continue
        if group.isdigit():
            if spanish and len(group) == 2 and "01" <= group <= "52":
                new[group] = f"{rng.randint(1, 52):02d}"
            else:
                new[group] = _other(rng, group)
        elif hexadecimal:
            new[group] = "".join(rng.choice("abcdef") for _ in group)
        elif len(group) >= 4 and not group.isupper():  # a word, not a code
            new[group] = "".join(_like(rng, letter) for letter in group)
        else:
            new[group] = "".join(
                rng.choice(string.ascii_lowercase if letter.islower() else string.ascii_uppercase) for letter in group
            )
    return re.sub(r"[0-9]+|[^\W\d_]+", lambda found: new[found.group(0)], text)


def _like(rng: random.Random, letter: str) -> str:
    """A vowel for a vowel, a consonant for a consonant, in the same case."""
    new = rng.choice("aeiou" if plain(letter).lower() in "aeiou" else "bcdfglmnprstv")
    return new.upper() if letter.isupper() else new


def _other(rng: random.Random, group: str) -> str:
    """Other digits: a leading zero stays, and no other digit becomes one."""
    zeros = len(group) - len(group.lstrip("0"))
    rest = len(group) - zeros
    if not rest:
        return group
    return "0" * zeros + rng.choice("123456789") + digits(rng, rest - 1)


def scrambled_digits(rng: random.Random, text: str) -> str:
    """The text with random other digits; everything else stays."""
    return re.sub(r"[0-9]+", lambda found: _other(rng, found.group(0)), text)
