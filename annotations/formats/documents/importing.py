"""Documents as a format of imports, which is only read: see `extracting`."""

import io
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import splitext

from annotations.formats.base import HEAD, Files, InputFormat, NoteFiles, is_system_file
from annotations.formats.documents.base import DOCUMENTS, MIXED, Extracted, stem
from annotations.formats.documents.cleaning import ALL_RULES, CleaningRule
from annotations.formats.documents.extracting import Extractor
from annotations.formats.documents.hl7 import looks_like_hl7
from annotations.formats.documents.kinds import ENDINGS, DocumentKind
from annotations.formats.documents.omop import has_note_columns
from annotations.formats.notes import NoteError, NoteSource, ParsedNote, Problem, check_name


class DocumentsFormat:
    """Documents of any kind that `extracting` reads; each file is a group, and may hold many notes.

    `encoding` and `language` are as in `Extractor.results`. The format takes an `extractor` that the caller closes;
    without one it can group and claim files only.
    """

    name = DOCUMENTS

    def __init__(
        self, extractor: Extractor | None = None, *, encoding: str = "", rules: Collection[CleaningRule] = ALL_RULES,
        language: str = "",
    ) -> None:  # fmt: skip
        self._extractor = extractor
        self._encoding = encoding or None
        self._rules = rules
        self._language = language

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`. Text in UTF-8 is claimed only if it is HL7 by its name."""
        kind = ENDINGS.get(_ending(name))
        if kind is DocumentKind.TEXT:
            return not _is_utf8(head)
        if kind is DocumentKind.OMOP_CSV:
            return has_note_columns(head)
        if kind is DocumentKind.FHIR:
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


class MixedFormat:
    """Files of a format together with documents, which are read as such: also text that is not UTF-8."""

    def __init__(self, main: InputFormat, documents: DocumentsFormat) -> None:
        self.name = f"{main.name}{MIXED}"
        self._main = main
        self._documents = documents

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return self._main.claims(name, head) or self._documents.claims(name, head)

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`. A document that has the name of another note keeps its ending in its name."""
        groups, problems = self._main.group(names)
        strays = {each.file for each in problems if each.code == "unknown file" and _ending(each.file) in ENDINGS}
        taken = {group.name for group in groups}
        documents, others = self._documents.group(strays)
        groups += [NoteFiles(each.parts["document"], each.parts) if each.name in taken else each for each in documents]
        return groups, [each for each in problems if each.file not in strays] + others

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        if "document" in note.parts:
            yield from self._documents.read_many(note, files, labels)
            return
        for each in self._main.read_many(note, files, labels):
            if isinstance(each, NoteError) and each.problems[0].code == "utf8" and list(note.parts) == ["txt"]:
                yield from self._documents.read_many(
                    NoteFiles(note.name, {"document": note.parts["txt"]}), files, labels
                )
            else:
                yield each

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        return iter(()) if "document" in note.parts else self._main.used_labels(note, files)


def _ending(name: str) -> str:
    return splitext(name)[1][1:].lower()


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
