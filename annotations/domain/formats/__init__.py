"""File formats for notes and their spans: brat, CoNLL and plain text, by name in `FORMATS`."""

from collections.abc import Iterable
from typing import Final

from annotations.domain.formats.base import Format, is_system_file
from annotations.domain.formats.brat import BratFormat
from annotations.domain.formats.conll import ConllFormat
from annotations.domain.formats.plain import PlainFormat
from annotations.domain.tokens import Tokenizer, tokenize

FORMATS: Final[dict[str, Format]] = {
    "brat": BratFormat(),
    "conll": ConllFormat(),
    "text": PlainFormat(),
}
"""All formats by name, as used for `--format`."""

DETECT: Final = "detect"
"""The choice of `detected` instead of a format."""


def detected(names: Iterable[str]) -> str:
    """The format that the file names suggest: brat with an `.ann` file, CoNLL with a `.conll` file, else plain text."""
    endings = {name.rpartition(".")[2].lower() for name in names if not is_system_file(name)}
    return "brat" if "ann" in endings else "conll" if "conll" in endings else "text"


def reader(name: str, *, repair: bool = False) -> Format:
    """The format for reading. With `repair`, spans are moved to their quotes if the format has quotes (brat)."""
    return BratFormat(repair=True) if repair and name == "brat" else FORMATS[name]


def writer(name: str, *, sentences: bool = False, spaced: bool = False, tokenizer: Tokenizer = tokenize) -> Format:
    """The format for writing; see `OPTIONS` for the options that it has."""
    if name == "conll":
        return ConllFormat(tokenizer, sentences=sentences, spaced=spaced)
    if name == "brat":
        return BratFormat(spaced=spaced, tokenizer=tokenizer)
    return FORMATS[name]


OPTIONS: Final[dict[str, frozenset[str]]] = {
    "brat": frozenset({"spaced", "tokenizer"}),
    "conll": frozenset({"sentences", "spaced", "tokenizer"}),
    "text": frozenset(),
}
"""The options of `writer` by format. In brat, only the spaces depend on the tokenizer."""
