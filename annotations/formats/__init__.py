"""File formats for notes and their spans, by name in `FORMATS`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from annotations.formats.base import HEAD, Files, Format, InputFormat, is_system_file
from annotations.formats.bioc import BiocFormat, BiocJsonFormat
from annotations.formats.brat import BratFormat
from annotations.formats.cas import CasJsonFormat
from annotations.formats.columns import ColumnsFormat
from annotations.formats.conll import ConllFormat
from annotations.formats.docbin import DocBinFormat
from annotations.formats.doccano import DoccanoFormat
from annotations.formats.gate import GateFormat
from annotations.formats.hf import HuggingFaceFormat
from annotations.formats.i2b2 import I2b2Format
from annotations.formats.inline import InlineFormat
from annotations.formats.label_studio import LabelStudioFormat
from annotations.formats.notes import NoteError
from annotations.formats.prodigy import ProdigyFormat
from annotations.formats.pubannotation import PubannotationFormat
from annotations.formats.pubtator import PubtatorFormat
from annotations.formats.tables import CsvFormat, XlsxFormat
from annotations.formats.text_files import PlainFormat
from annotations.formats.uima import Layer
from annotations.formats.web_annotation import WebAnnotationFormat
from annotations.formats.webanno_tsv import WebannoTsvFormat
from annotations.formats.xmi import XmiFormat
from annotations.text.bio import Scheme
from annotations.text.tokens import Tokenizer, tokenize

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
_LOOKED_AT: Final = 50
"""The most files of one ending that are looked into to detect the format."""


Head = tuple[str, bytes]
"""The name and the first bytes of a file."""


def heads(names: Iterable[str], files: Files) -> list[Head]:
    """The first files of each ending, as far as they can be read, to detect their format."""
    looked: dict[str, int] = {}
    found: list[Head] = []
    for name in names:
        ending = name.rpartition(".")[2].lower()
        looked[ending] = looked.get(ending, 0) + 1
        if is_system_file(name) or looked[ending] > _LOOKED_AT:
            continue
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


def writer(
    name: str,
    *,
    sentences: bool = False,
    spaced: bool = False,
    tokenizer: Tokenizer = tokenize,
    layer: Layer | None = None,
) -> Format:
    """The format for writing; see `OPTIONS` for the options that it has."""
    if name == "conll":
        return ConllFormat(tokenizer, sentences=sentences, spaced=spaced)
    if name == "brat":
        return BratFormat(spaced=spaced, tokenizer=tokenizer)
    if name == "webanno-tsv":
        return WebannoTsvFormat(tokenizer, layer)
    if name == "xmi":
        return XmiFormat(layer)
    if name == "cas-json":
        return CasJsonFormat(layer)
    format = FORMATS[name]
    if isinstance(format, ColumnsFormat):
        return format.with_options(tokenizer=tokenizer, sentences=sentences)
    if isinstance(format, DocBinFormat):
        return DocBinFormat(tokenizer)
    if isinstance(format, HuggingFaceFormat):
        return HuggingFaceFormat(tokenizer)
    return format


OPTIONS: Final[dict[str, frozenset[str]]] = {
    "brat": frozenset({"spaced", "tokenizer"}),
    "conll": frozenset({"sentences", "spaced", "tokenizer"}),
    "conll2003": frozenset({"sentences", "tokenizer"}),
    "iob1": frozenset({"sentences", "tokenizer"}),
    "bioes": frozenset({"sentences", "tokenizer"}),
    "webanno-tsv": frozenset({"tokenizer", "layer"}),
    "docbin": frozenset({"tokenizer"}),
    "hf": frozenset({"tokenizer"}),
    "xmi": frozenset({"layer"}),
    "cas-json": frozenset({"layer"}),
}
"""The options of `writer`, for formats that have some. In brat, only the spaces depend on the tokenizer."""
