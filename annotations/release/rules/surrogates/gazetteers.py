"""Names of people by language, gender and frequency, from short lists of common names and from Faker.

Faker is used only for languages whose lists hold real names: Spain, Mexico, Colombia and Argentina; Italy; the United
States and Great Britain.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from annotations.release.rules.surrogates.folding import WORD, accented, folded
from annotations.text import search

LANGUAGES: Final = ("en", "es", "it")
_DATA: Final = Path(__file__).with_name("data")
_PROVIDERS: Final = {"es": ("es_ES", "es_MX", "es_CO", "es_AR"), "it": ("it_IT",), "en": ("en_US", "en_GB")}
COMMON, KNOWN, RARE = 0, 1, 2
"""Frequency of a name: among the most common, in the lists, or in none of them."""


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the lists in its correct spelling; `gender` is f, m or empty; `band` is COMMON or KNOWN."""

    text: str
    gender: str
    band: int


@dataclass(frozen=True, slots=True)
class NamePool:
    """The names of a language, by folded text, and pools to draw from by group, band, and whether they have accents.

    The groups are "surname", and given names by gender: f, m and empty for all. `chains` make up names of a group.
    """

    given: Mapping[str, KnownName]
    surnames: Mapping[str, KnownName]
    pools: Mapping[tuple[str, int, bool], list[str]]
    chains: Mapping[str, "Chain"] = field(repr=False)


def provider(what: str, locale: str) -> Any:
    """Faker's lists of a locale, loaded on first use: a web process that makes no surrogates saves 10 MiB."""
    return import_module(f"faker.providers.{what}.{locale}").Provider


def lines(name: str) -> list[str]:
    """The lines of a data file without comments."""
    return search.lines_of(_DATA / name)


def word_groups(file: str) -> Mapping[str, list[str]]:
    """The words of each group of a data file."""
    return search.word_groups(_DATA / file)


@cache
def kept(group: str) -> frozenset[str]:
    """The folded words of a group (institution, street, honor, small, particle, devotional, caption) of the file."""
    return frozenset(map(folded, word_groups("kept_words.txt")[group]))


@cache
def nicknames() -> dict[str, frozenset[str]]:
    """For each folded short form, the folded full names that it may stand for."""
    out: dict[str, set[str]] = {}
    for entry in word_groups("common_names.txt")["nicknames"]:
        full, _, short = entry.partition("=")
        for form in short.split(","):
            out.setdefault(folded(form), set()).add(folded(full))
    return {form: frozenset(full) for form, full in out.items()}


def known_language(language: str) -> str:
    """The language whose lists serve this one: itself if there are lists, else English."""
    code = language[:2].lower()
    return code if code in LANGUAGES else "en"


@cache
def names_of(language: str) -> NamePool:
    """The names of a language (es, it, en)."""
    common = word_groups("common_names.txt")
    providers = [provider("person", locale) for locale in _PROVIDERS[language]]
    given: dict[str, KnownName] = {}
    for gender, sex in (("m", "male"), ("f", "female")):
        usual = common[f"{language} {sex}"]
        listed = _single(name for provider in providers for name in getattr(provider, f"first_names_{sex}"))
        often = {folded(name) for name in usual}
        for name in [*usual, *listed]:
            key = folded(name)
            before = given.get(key)
            if before is not None and gender not in before.gender and not (before.band < (key not in often)):
                given[key] = KnownName(before.text, "", before.band)
            elif before is None or (accented(name) and not accented(before.text)):
                given[key] = KnownName(name, gender, COMMON if key in often else KNOWN)
    often = {folded(name) for name in common[f"{language} surnames"]}
    surnames: dict[str, KnownName] = {}
    last = _single(name for provider in providers for name in provider.last_names)
    for name in [*common[f"{language} surnames"], *last]:
        key = folded(name)
        if key not in surnames or (accented(name) and not accented(surnames[key].text)):
            surnames[key] = KnownName(name, "", COMMON if key in often else KNOWN)
    groups = {gender: [name for name in given.values() if gender in ("", name.gender)] for gender in ("m", "f", "")}
    groups["surname"] = list(surnames.values())
    pools: dict[tuple[str, int, bool], list[str]] = {}
    for group, members in groups.items():
        for known in members:
            pools.setdefault((group, known.band, accented(known.text)), []).append(known.text)
    chains = {group: Chain(known.text for known in members) for group, members in groups.items()}
    return NamePool(given, surnames, pools, chains)


def _single(names: Iterable[str]) -> list[str]:
    """The names that are one word of at least three letters, without repetition."""
    return [name for name in dict.fromkeys(names) if len(name) > 2 and WORD.fullmatch(name)]


class Chain:
    """Makes up words that look like those of a list: each letter follows the three letters before it."""

    ORDER: Final = 3
    _start: Final = "^" * ORDER

    def __init__(self, words: Iterable[str]) -> None:
        self._next: dict[str, list[str]] = {}
        self.words: set[str] = set()
        for word in words:
            self.words.add(folded(word))
            padded = self._start + word.lower() + "$"
            for at in range(self.ORDER, len(padded)):
                self._next.setdefault(padded[at - self.ORDER : at], []).append(padded[at])

    def coin(self, rng: random.Random, like: str = "") -> str:
        """A made-up word with a capital that isn't in the list, in length and accents like `like`."""
        best = ""
        length, marked = len(like), accented(like)
        for trial in range(30):
            word = self._word(rng)
            if len(word) < 4 or folded(word) in self.words:
                continue
            best = word
            far = abs(len(word) - length) > 2 + trial // 10
            if not like or (not far and (accented(word) == marked or trial > 20)):
                break
        return (best or "arandel").capitalize()

    def _word(self, rng: random.Random) -> str:
        """A word in lower case of up to 13 letters; empty where the chain would go on."""
        before, word = self._start, ""
        while len(word) < 14:
            letter = rng.choice(self._next[before])
            if letter == "$":
                return word
            word += letter
            before = before[1:] + letter
        return ""
