"""File formats for notes and their spans, by name in `FORMATS`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from posixpath import dirname
from typing import Any, Final

from annotations.formats.base import HEAD, Files, Format, InputFormat, is_system_file
from annotations.formats.bioc import BiocFormat, BiocJsonFormat
from annotations.formats.brat import BratFormat
from annotations.formats.cas import CasJsonFormat
from annotations.formats.columns import ColumnsFormat
from annotations.formats.conll import ConllFormat
from annotations.formats.docbin import DocBinFormat
from annotations.formats.gate import GateFormat
from annotations.formats.hf import HuggingFaceFormat
from annotations.formats.i2b2 import I2b2Format
from annotations.formats.inline import InlineFormat
from annotations.formats.json_formats import DoccanoFormat, ProdigyFormat, PubannotationFormat
from annotations.formats.label_studio import LabelStudioFormat
from annotations.formats.notes import NoteError
from annotations.formats.pubtator import PubtatorFormat
from annotations.formats.tables import CsvFormat, XlsxFormat
from annotations.formats.text_files import PlainFormat
from annotations.formats.web_annotation import WebAnnotationFormat
from annotations.formats.webanno_tsv import WebannoTsvFormat
from annotations.formats.xmi import XmiFormat
from annotations.text.bio import Scheme

FORMATS: Final[dict[str, Format]] = {
    "brat": BratFormat(),
    "conll": ConllFormat(),
    "conll2003": ColumnsFormat("conll2003", Scheme.IOB2, filled=True),
    "iob1": ColumnsFormat("iob1", Scheme.IOB1),
    "bioes": ColumnsFormat("bioes", Scheme.BIOES),
    "i2b2": I2b2Format(),
    "doccano": DoccanoFormat(),
    "label-studio": LabelStudioFormat(),
    "prodigy": ProdigyFormat(),
    "webanno-tsv": WebannoTsvFormat(),
    "xmi": XmiFormat(),
    "cas-json": CasJsonFormat(),
    "bioc": BiocFormat(),
    "bioc-json": BiocJsonFormat(),
    "docbin": DocBinFormat(),
    "hf": HuggingFaceFormat(),
    "gate": GateFormat(),
    "web-annotation": WebAnnotationFormat(),
    "csv": CsvFormat(),
    "xlsx": XlsxFormat(),
    "inline": InlineFormat(),
    "text": PlainFormat(),
}
"""All formats that are read and written, by name, as used for `--format`."""
READERS: Final[dict[str, InputFormat]] = {"pubtator": PubtatorFormat(), "pubannotation": PubannotationFormat()}
"""Formats that are only read, by name."""

QUOTING: Final = frozenset(
    {"brat", "i2b2", "bioc", "bioc-json", "label-studio", "prodigy", "pubtator", "web-annotation", "csv", "xlsx"}
)
"""Formats whose files quote the texts of spans, so that spans can be moved to them."""

DETECT: Final = "auto"
"""The choice of the format that the files are in."""
LOOKED_AT: Final = 50
"""The most files of one ending in a folder that are looked into to detect the format."""
_LOOKED_AT_IN_ALL: Final = 10 * LOOKED_AT
"""The most files of one ending."""


Head = tuple[str, bytes]
"""The name and the first bytes of a file."""


def heads(names: Iterable[str], files: Files) -> list[Head]:
    """The first files of each ending in a folder, as far as they can be read, to detect their format."""
    looked = Counter[str]()
    found: list[Head] = []
    for name in names:
        ending = name.rpartition(".")[2].lower()
        alike = f"{dirname(name)}/*.{ending}"
        if is_system_file(name) or looked[alike] == LOOKED_AT or looked[ending] == _LOOKED_AT_IN_ALL:
            continue
        looked.update((alike, ending))
        try:
            with files.open(name) as file:
                found.append((name, file.read(HEAD)))
        except NoteError:
            continue
    return found


def claiming(found: Sequence[Head], formats: Mapping[str, InputFormat] = FORMATS) -> str:
    """The first format that claims one of the files; plain text if none does."""
    claims = (name for name, one in formats.items() if name != "text" and any(one.claims(*head) for head in found))
    return next(claims, "text")


def detected(names: Iterable[str], files: Files) -> str:
    """The format of FORMATS that `claiming` finds for files."""
    return claiming(heads(names, files))


OPTIONS: Final = {name: format.options for name, format in FORMATS.items() if format.options}
"""The options for writing, for formats that have some (see `Format`). In brat, only the spaces depend on the tokenizer.
"""


def writer(name: str, **options: Any) -> Format:
    """The format for writing, with those of the options that it has."""
    return FORMATS[name].with_options(**options)
