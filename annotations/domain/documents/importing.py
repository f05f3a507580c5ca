"""Documents as a format of imports, which is only read: see `extracting`."""

import io
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import splitext
from typing import Final

from annotations.domain.documents.base import Extracted, stem
from annotations.domain.documents.cleaning import ALL_RULES, Rule
from annotations.domain.documents.extracting import Extractor
from annotations.domain.documents.hl7 import looks_like_hl7
from annotations.domain.documents.kinds import ENDINGS, Kind
from annotations.domain.documents.omop import has_note_columns
from annotations.domain.formats.base import HEAD, Files, NoteFiles, is_system_file
from annotations.domain.notes import NoteError, NoteSource, ParsedNote, Problem, check_name

DOCUMENTS: Final = "documents"
"""The name of the format."""


class DocumentsFormat:
    """Documents of any kind that `extracting` reads; each file is a group, and may hold many notes.

    `encoding` and `language` are as in `Extractor.results`. The format takes an `extractor` that the caller closes;
    without one it can group and claim files only.
    """

    name = DOCUMENTS

    def __init__(
        self, extractor: Extractor | None = None, *, encoding: str = "", rules: Collection[Rule] = ALL_RULES,
        language: str = "",
    ) -> None:  # fmt: skip
        self._extractor = extractor
        self._encoding = encoding or None
        self._rules = rules
        self._language = language

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`. Text in UTF-8 is claimed only if it is HL7 by its name."""
        kind = ENDINGS.get(splitext(name)[1][1:].lower())
        if kind is Kind.TEXT:
            return not _is_utf8(head)
        if kind is Kind.OMOP_CSV:
            return has_note_columns(head)
        if kind is Kind.FHIR:
            return b'"resourceType"' in head
        if kind is None:
            return looks_like_hl7(head)
        return True

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`. A document that differs from another one only in the ending keeps it in its name."""
        groups: list[NoteFiles] = []
        problems: list[Problem] = []
        taken: set[str] = set()
        for name in sorted(names):
            if name.endswith("/") or is_system_file(name):
                continue
            try:
                check_name(name)
            except NoteError as error:
                problems += error.problems
                continue
            note = name if stem(name) in taken else stem(name)
            taken.add(note)
            groups.append(NoteFiles(note, {"document": name}))
        return groups, problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        assert self._extractor is not None
        file = note.parts["document"]
        try:
            with files.open(file) as opened:
                # What is in memory has no descriptor that another process could read.
                data = opened.read() if isinstance(opened, io.BytesIO) else opened
                for each in self._extractor.results(
                    file, data, encoding=self._encoding, rules=self._rules, language=self._language
                ):
                    yield each if isinstance(each, NoteError) else _parsed(note, file, each)
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`. Documents have no labels."""
        return iter(())


def _parsed(note: NoteFiles, file: str, found: Extracted) -> ParsedNote | NoteError:
    name = note.name if found.name == stem(file) else found.name
    try:
        check_name(name)
    except NoteError as error:
        return error
    places = [(part.start, part.end, str(part)) for part in found.parts]
    return ParsedNote(
        name,
        found.text,
        None,
        [Problem(name, None, "document", warning) for warning in found.warnings],
        found.patient_id,
        source=NoteSource(file, found.kind, found.encoding, dict(found.cleaned), places, found.ocr),
    )


def _is_utf8(head: bytes) -> bool:
    """Whether the beginning of a file is UTF-8, perhaps cut within a character."""
    try:
        getincrementaldecoder("utf-8")().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        return False
    return True
