"""Word lists of well-known public facts (`data/*.txt`), read once per process."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from models_runtime.backends.rules.kinds import RuleKind

_DATA: Final = Path(__file__).with_name("data")
_PLACES: Final = {
    "cities_es": RuleKind.CITY,
    "cities_it": RuleKind.CITY,
    "cities_en": RuleKind.CITY,
    "regions": RuleKind.REGION,
    "states": RuleKind.STATE,
    "countries": RuleKind.COUNTRY,
}
GIVEN_NAMES: Final = {"it": "given_it", "es": "given_es", "en": "given_en"}


def _words(name: str) -> list[str]:
    return (_DATA / f"{name}.txt").read_text(encoding="utf-8").split()


@cache
def word_set(name: str) -> frozenset[str]:
    """The words of a file, lower-cased."""
    return frozenset(word.lower() for word in _words(name))


@cache
def open_given(*languages: str) -> frozenset[str]:
    """The given names of these languages' open lists, lower-cased, without words of clinical notes and surnames.

    NOTICE.md tells where the lists come from.
    """
    found = frozenset[str]().union(*(word_set(f"open_given_{language}") for language in languages))
    others = (word_set(name) for name in ("not_names", "eponyms", "surnames"))
    return found.difference(*others, listed("persons", "sentence_starts"))


def phrases(name: str) -> Iterator[str]:
    """The phrases of a file, separated by semicolons."""
    for line in (_DATA / f"{name}.txt").read_text(encoding="utf-8").split("\n"):
        yield from (phrase for part in line.split(";") if (phrase := part.strip()))


@cache
def places() -> dict[str, tuple[RuleKind, bool]]:
    """Each lower-cased place name with its kind, and whether it counts without a preposition or field before it."""
    found: dict[str, tuple[RuleKind, bool]] = {}
    for name, kind in _PLACES.items():
        for phrase in phrases(name):
            unambiguous = not phrase.startswith("?")
            key = phrase.removeprefix("?").lower()
            known = found.get(key)
            if known is None or (unambiguous and not known[1]):
                found[key] = (kind if known is None else known[0], unambiguous)
    return found


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in (_DATA / "words.txt").read_text(encoding="utf-8").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, _, line = line.partition(":")
        found.setdefault(name, []).extend(word.replace("_", " ") for word in line.split())
    return {name: tuple(words) for name, words in found.items()}


@cache
def listed(*names: str) -> tuple[str, ...]:
    """The words of these groups of `words.txt`, in order."""
    return tuple(word for name in names for word in _groups()[name])


def is_month(word: str) -> bool:
    """Whether a word is a month, in full or in short: `April`, `Feb`."""
    return word.lower() in _months()


@cache
def _months() -> frozenset[str]:
    return frozenset((*listed("months", "months_short"), "sept"))


@cache
def either(*names: str) -> str:
    """The words of these groups as alternatives of a regular expression, longer words first."""
    return alternatives(listed(*names))


def alternatives(words: Iterable[str]) -> str:
    """These words as alternatives of a regular expression, longer words first."""
    return "|".join(re.escape(word) for word in sorted({*words}, key=lambda word: (-len(word), word)))
