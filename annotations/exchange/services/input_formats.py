"""Formats that can be imported: all that can be exported, and documents and others, which are only read."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypedDict, cast

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.exchange.services.sources import PATIENTS, NamedFiles
from annotations.formats import DETECT, FORMATS, QUOTING, READERS, claiming, heads
from annotations.formats.base import InputFormat, NoteFiles, OneFileReader
from annotations.formats.documents.base import DOCUMENTS, MIXED, Limits
from annotations.formats.documents.extracting import DocumentsFormat, Extractor, MixedFormat
from annotations.formats.documents.texts import ALL_RULES, CleaningRule, python_name
from annotations.formats.gate import SET, GateFormat, set_format
from annotations.formats.notes import NoteError, Problem
from annotations.formats.several import SEVERAL, SeveralFormats, claims_of
from annotations.models import Import


class _InputFormats(ChainMap[str, Any]):
    """The formats by name. Several at once, with documents among the files, or a set of GATE have names not listed."""

    def __missing__(self, name: str) -> InputFormat:
        main = name.removesuffix(MIXED)
        if name == SEVERAL:
            return SeveralFormats()
        if main not in (name, DOCUMENTS):
            return MixedFormat(self[main], DocumentsFormat())
        if name.startswith(SET) and set_format(name.removeprefix(SET)) == name:
            return GateFormat(name.removeprefix(SET))
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self[name] is not None
        except KeyError:
            return False


# A chain sees later changes of FORMATS.
INPUT_FORMATS: Final = cast(Mapping[str, InputFormat], _InputFormats({DOCUMENTS: DocumentsFormat()}, READERS, FORMATS))
"""All formats of imports by name."""
_LOOKED_AT: Final = 50
_NAMED: Final = 20
_WITHOUT_SPANS: Final = frozenset({"text", DOCUMENTS})


def holds_spans(format: str) -> bool:
    """Whether files of a format hold annotations."""
    return format.removesuffix(MIXED) not in _WITHOUT_SPANS


def quotes_spans(format: str) -> bool:
    """Whether files of a format may quote the texts of spans."""
    return format.removesuffix(MIXED) in QUOTING | {SEVERAL}


def grouped_files(format: str, source: NamedFiles) -> tuple[list[NoteFiles], list[Problem]]:
    """Group the files of a source into notes, and list those that belong to none."""
    names = [name for name in source.names() if name != PATIENTS]
    if format.removesuffix(MIXED) != SEVERAL:
        return INPUT_FORMATS[format].group(names)
    several = SeveralFormats(source)
    return (several if format == SEVERAL else MixedFormat(several, DocumentsFormat())).group(names)


def holds_many(format: str, group: NoteFiles) -> bool:
    """Whether the notes of a group are counted one by one, since the format keeps many in one file."""
    main = group.format or format.removesuffix(MIXED)
    return "document" not in group.parts and isinstance(INPUT_FORMATS[main], OneFileReader)


class FormatFiles(TypedDict):
    """The files that are read in one format: how many, and the names of the first ones."""

    format: str
    files: int
    names: list[str]


def files_by_format(format: str, groups: Iterable[NoteFiles]) -> list[FormatFiles]:
    """All files that are read, by their format."""
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        kind = DOCUMENTS if "document" in group.parts else group.format or format.removesuffix(MIXED)
        found.setdefault(kind, {}).update(dict.fromkeys([*group.bundle, *group.parts.values(), *group.texts.values()]))
    return [{"format": kind, "files": len(names), "names": list(names)[:_NAMED]} for kind, names in found.items()]


def input_format(format: str, names: Iterable[str], source: NamedFiles) -> str:
    """The format, or the one that the files are in if it is to be detected, file by file."""
    if format != DETECT:
        return format
    listed = list(names)
    found = heads(listed, source)
    main, documents = claiming(found, {**FORMATS, **READERS}), INPUT_FORMATS[DOCUMENTS]
    if not holds_spans(main):
        claimed = [documents.claims(*head) for head in found]
        texts = [INPUT_FORMATS[main].claims(*head) and not other for head, other in zip(found, claimed, strict=True)]
        if not any(claimed):
            return main
        return f"{main}{MIXED}" if any(texts) else DOCUMENTS
    claims = claims_of(found)
    strays = {each.file for each in INPUT_FORMATS[main].group(listed)[1] if each.code == "unknown file"} - claims.keys()
    if len(set(claims.values())) > 1 or any(name.lower().endswith(".txt") for name in strays):
        main = SEVERAL
    return f"{main}{MIXED}" if any(head[0] in strays and documents.claims(*head) for head in found) else main


def gate_sets(row: Import, source: NamedFiles) -> list[str]:
    """The formats that read the annotation sets of the first GATE files of an import."""
    gate, found = GateFormat(), set[str]()
    if not row.main_format.startswith(gate.name):
        return []
    groups, _strays = gate.group(source.names())
    for file in [group.parts["xml"] for group in groups[:_LOOKED_AT]]:
        with suppress(NoteError):
            found |= gate.parts(file, source.load(file)).sets()
    return sorted(map(set_format, found))


def check_reading(encoding: str, no_cleanup: Sequence[str]) -> None:
    """Raise ServiceError unless the encoding of documents is known or empty, and all rules to leave out exist."""
    if encoding and python_name(encoding) is None:
        message = _("The encoding “%(encoding)s” is unknown. Choose one such as utf-8, cp1252 or utf-16.")
        raise ServiceError(message % {"encoding": encoding[:40]}, code="encoding")
    unknown = next((rule for rule in no_cleanup if rule not in ALL_RULES), None)
    if unknown is not None:
        message = _("There is no clean-up rule “%(rule)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"rule": unknown[:40], "choices": ", ".join(CleaningRule)}, code="cleanup")


@contextmanager
def opened_format(row: Import, limits: Limits | None = None) -> Iterator[InputFormat]:
    """The format of an import for reading, with its options. `limits` are those of documents."""
    if not row.has_documents:
        yield INPUT_FORMATS[row.format]
        return
    with Extractor(limits) as extractor:
        rules = ALL_RULES - set(map(CleaningRule, row.no_cleanup))
        language = row.language or row.project.language
        documents = DocumentsFormat(extractor, encoding=row.encoding, rules=rules, language=language)
        main = row.format.removesuffix(MIXED)
        yield documents if main == DOCUMENTS else MixedFormat(INPUT_FORMATS[main], documents)
