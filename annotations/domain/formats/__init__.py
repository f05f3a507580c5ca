"""File formats for notes and their spans: brat, CoNLL and plain text, by name in `FORMATS`."""

from typing import Final

from annotations.domain.formats.base import Format
from annotations.domain.formats.brat import BratFormat
from annotations.domain.formats.conll import ConllFormat
from annotations.domain.formats.plain import PlainFormat

FORMATS: Final[dict[str, Format]] = {
    "brat": BratFormat(),
    "conll": ConllFormat(),
    "text": PlainFormat(),
}
"""All formats by name, as used for `--format`."""
