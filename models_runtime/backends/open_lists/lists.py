"""Given names, surnames and towns of open lists (`data/KIND_LANGUAGE.txt`, one a line), read once per process."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).with_name("data")
KINDS: Final = ("given", "surname", "town")
LANGUAGES: Final = ("en", "es", "it")
# A name of several words gives a mark to each that is not shorter, so that "de" and "del" get none.
PART: Final = 4


def names(kind: str, language: str) -> list[str]:
    """The names of a list. `kind`: one of KINDS. `language`: one of LANGUAGES; for towns, that of their country."""
    return (DATA / f"{kind}_{language}.txt").read_text(encoding="utf-8").splitlines()


def marked(lexicon: Mapping[str, list[str]], language: str) -> dict[str, list[str]]:
    """The lexicon with the marks of all listed words behind the header fields of each word.

    `language`: that of the notes. For a language without lists, those of all languages count.
    """
    marks = _marks(language)
    return {word: [*lexicon.get(word, ()), *marks.get(word, ())] for word in sorted({*lexicon, *marks})}


@cache
def _marks(language: str) -> dict[str, tuple[str, ...]]:
    """For each lower-cased word, a mark for each kind of list that has it: `@town`, or `@town+` as part of a name."""
    found: dict[str, set[str]] = {}
    for kind in KINDS:
        for each in (language,) if language in LANGUAGES else LANGUAGES:
            for word, whole in _words(names(kind, each)):
                found.setdefault(word, set()).add(f"@{kind}" if whole else f"@{kind}+")
    return {word: tuple(sorted(marks)) for word, marks in found.items()}


def _words(listed: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each word, lower-cased, and whether it is a whole name."""
    for name in listed:
        words = name.lower().split()
        if len(words) == 1:
            yield words[0], True
        else:
            yield from ((word, False) for word in words if len(word) >= PART)
