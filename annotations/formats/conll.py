"""CoNLL columns with offsets, in addition to the text files, so that an export can be imported without loss.

`NAME.conll` and `NAME.txt`, or one file for many notes and all their text files. A row is `token TAB start TAB end TAB
tag`, with offsets in code points, end-exclusive, and BIO tags; an empty row ends a line of the note, or on request a
sentence. Rows end with LF only, because a token may be U+2028 or another character that some programs take for a line
break. Rows that start with `# ` are comments. In a file for many notes, a row `-DOCSTART- TAB NAME` starts each note.
Source of the layout: Tjong Kim Sang and De Meulder, CoNLL-2003 shared task.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from operator import le, lt
from posixpath import dirname, join
from typing import Final

from annotations.formats import text_files
from annotations.formats.base import Files, Format, LabelFinder, NoteFiles, loose_texts
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8
from annotations.formats.token_tags import TagReader, blocks, count_labels, tagged, words_of, written_tags
from annotations.text.bio import BioEncoding, decode
from annotations.text.spans import Span, Token, tokens_at
from annotations.text.wording import gettext as _

DOCUMENT_MARK: Final = "-DOCSTART-\t"
HEADER: Final = b"# columns: token start end tag"
"""The first row of the files that we write."""
_SPACED: Final = f"# {text_files.SPACED}"
_NUMBER: Final = re.compile("[0-9]{1,9}")
_ROW: Final = re.compile(r"([^\t]+)\t([0-9]{1,9})\t([0-9]{1,9})\t([^\t]+)", re.DOTALL)
_Rows = list[tuple[int, str]]  # (1-based line number, text of the row)


class ConllFormat(Format):
    """Reads and writes CoNLL with offsets.

    With `sentences`, an empty row ends a sentence instead of a line, but never inside a span. With `spaced`, a space is
    written where a span begins or ends inside a token, and the token isn't split; the offset map beside the files makes
    them readable again.
    """

    name = "conll"
    endings = ("txt", "conll")
    options = frozenset({"sentences", "spaced", "tokenizer"})

    def claims(self, name: str, head: bytes) -> bool:
        return name.lower().endswith(".conll") and head.startswith(HEADER)

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """A `.conll` file without a text file of the same name counts as a file of many notes.

        All such files are one group, together with the text files without a `.conll` file of the same name.
        """
        notes, problems = text_files.split_parts(names, self.endings)
        bundle = tuple(parts["conll"] for _, parts in sorted(notes.items()) if "txt" not in parts)
        if not bundle:
            return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems
        whole, texts = [], {}
        for name, parts in sorted(notes.items()):
            if "txt" in parts and len(parts) > 1:
                whole.append(NoteFiles(name, parts))
            elif "txt" in parts:
                texts[name] = parts["txt"]
        return [*whole, NoteFiles(bundle[0].rpartition(".")[0], {"conll": bundle[0]}, bundle, texts)], problems

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        text = decode_utf8(files.load(note.parts["txt"]), note.parts["txt"])
        file = note.parts.get("conll")
        if file is None:
            return text_files.restored(ParsedNote(note.name, text, None), note, files)
        data = files.load(file)
        if _is_spaced(data) and text_files.MAP not in note.parts:
            raise NoteError([text_files.map_missing(note.name, file)])
        rows = _rows(data, file)
        marks = [line for line, row in rows if row.startswith(DOCUMENT_MARK)]
        if len(marks) > 1:
            message = _("A second note starts here, but this file belongs to one text file. Rename the file.")
            raise NoteError([Problem(file, marks[1], "many notes", message)])
        return text_files.restored(_parse(note.name, text, file, rows, find_label), note, files)

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Text files that no `.conll` file mentions come last, as notes without annotations."""
        if not note.bundle:
            yield from super().read_many(note, files, labels)
            return
        seen: set[str] = set()
        for file in note.bundle:
            yield from self._read_bundle(file, note.texts, files, LabelFinder(labels), seen)
        yield from loose_texts(note.texts, seen, files)

    def _read_bundle(
        self, file: str, texts: Mapping[str, str], files: Files, find_label: LabelFinder, seen: set[str]
    ) -> Iterator[ParsedNote | NoteError]:
        data = files.load(file)
        if _is_spaced(data):
            message = _(
                "A note in this file was exported with inserted spaces. Import its own files and its offset map."
            )
            yield NoteError([Problem(file, None, "map", message)])
            return
        try:
            documents = _documents(_rows(data, file), file)
        except NoteError as error:
            yield error
            return
        for line, given, rows in documents:
            try:
                name = join(dirname(file), check_name(given))
                if name not in texts:
                    message = _("The text file “{name}.txt” is missing. Import it together with this file.", name)
                    raise NoteError([Problem(file, line, "no text", message)])
                if name in seen:
                    raise NoteError([Problem(file, line, "same name", _("The note “{name}” occurs twice.", name))])
                seen.add(name)
                yield _parse(name, decode_utf8(files.load(texts[name]), texts[name]), file, rows, find_label)
            except NoteError as error:
                yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        for file in note.bundle or tuple(filter(None, [note.parts.get("conll")])):
            with suppress(NoteError):
                rows = _rows(files.load(file), file)
                parts = [each for _, _, each in _documents(rows, file)] if note.bundle else [rows]
                yield from (count_labels(row.rpartition("\t")[2] for _, row in part) for part in parts)

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """A token has one label, so overlapping spans cause losses."""
        name, text = check_name(note.name), note.text
        note = replace(note, spans=list(note.spans))
        spacing = text_files.spacing_for(note, labels, self.tokenizer) if self.spaced else text_files.NONE

        def tokenizer(text: str) -> list[Token]:
            """The tokens of the text with spaces, at their offsets in the text without."""
            tokens = self.tokenizer(spacing.spaced(text))
            return [spacing.back(token) for token in tokens] if spacing.cuts else tokens

        encoded, losses = tagged(note, labels, tokenizer)
        mark = f"{_SPACED}\n" if spacing.cuts else ""
        rows = f"{HEADER.decode()}; note: {name}\n{mark}{self._rows(text, spacing, encoded, labels)}"
        files = {f"{name}.txt": spacing.spaced(text).encode(), f"{name}.conll": rows.encode()}
        return files | text_files.map_file(name, text, spacing), losses

    def _rows(
        self, text: str, spacing: text_files.InsertedSpaces, encoded: BioEncoding, labels: Mapping[str, str]
    ) -> str:
        codes = written_tags(encoded.tags, labels)
        there = map(spacing.moved, encoded.tokens) if spacing.cuts else encoded.tokens
        found = zip(words_of(text, encoded.tokens), there, encoded.tags, strict=True)
        rows = [f"{word}\t{start}\t{end}\t{codes[tag]}\n" for word, (start, end), tag in found]
        parts = blocks(text, encoded, by_sentence=self.sentences, whole_spans=self.sentences)
        return "".join("".join(rows[first:past]) + "\n" for first, past in parts)


def _is_spaced(data: bytes) -> bool:
    return f"\n{_SPACED}".encode() in data


def _rows(data: bytes, file: str) -> _Rows:
    """The rows with their line numbers, without empty rows and comments."""
    text = decode_utf8(data, file).removeprefix("\ufeff")
    rows = ((line, row.removesuffix("\r")) for line, row in enumerate(text.split("\n"), 1))
    return [(line, row) for line, row in rows if row and not row.startswith("# ")]


def _documents(rows: _Rows, file: str) -> list[tuple[int, str, _Rows]]:
    """The line of the mark, the name and the rows of each note."""
    documents: list[tuple[int, str, _Rows]] = []
    for line, row in rows:
        if row.startswith(DOCUMENT_MARK):
            documents.append((line, row.removeprefix(DOCUMENT_MARK), []))
        elif documents:
            documents[-1][2].append((line, row))
        else:
            message = _("The file has neither a text file of the same name nor a first row “-DOCSTART-<tab>name”.")
            raise NoteError([Problem(file, line, "no text", message)])
    return documents


def _parse(name: str, text: str, file: str, rows: _Rows, find_label: LabelFinder) -> ParsedNote:
    """Parse the rows of one note. Raises NoteError with all problems of the rows."""
    read_tag = TagReader(find_label)
    given = [(line, row) for line, row in rows if not row.startswith(DOCUMENT_MARK)]
    spans = _spans_of_valid(text, given, read_tag)
    if spans is None:
        raise NoteError(Problem(file, *fault) for fault in _faults(text, given, read_tag))
    return ParsedNote(name, text, spans)


def _faults(text: str, rows: _Rows, read_tag: TagReader) -> Iterator[tuple[int, str, str]]:
    """The line, the code and the message of all problems of rows that are not all valid."""
    before = 0
    for line, row in rows:
        match = _ROW.fullmatch(row)
        if not match:
            yield line, "line", _("The row must have token, start, end and tag, separated by tabs.")
            continue
        word, first, past, given = match.groups()
        fault, tag = _fault(text, word, int(first), int(past), before), read_tag(given)
        if fault:
            yield line, *fault
        if not isinstance(tag, str):
            yield line, *tag
        elif not fault:
            before = int(past)


def _spans_of_valid(text: str, rows: _Rows, read_tag: TagReader) -> list[Span] | None:
    """The spans of rows that are all valid, which is the usual case; None if `_parse` must look for problems."""
    found = [row.split("\t") for _line, row in rows]
    if not found:
        return []
    if set(map(len, found)) != {4}:
        return None
    words, firsts, lasts, given = zip(*found, strict=True)
    if not all(map(_NUMBER.fullmatch, firsts)) or not all(map(_NUMBER.fullmatch, lasts)) or not all(words):
        return None
    starts, ends = list(map(int, firsts)), list(map(int, lasts))
    in_order = all(map(lt, starts, ends)) and all(map(le, ends, starts[1:])) and ends[-1] <= len(text)
    if not in_order or list(map(text.__getitem__, map(slice, starts, ends))) != list(words):
        return None
    codes = {tag: read_tag(tag) for tag in set(given)}
    tags = [code for code in map(codes.__getitem__, given) if isinstance(code, str)]
    return decode(tokens_at(zip(starts, ends, strict=True)), tags) if len(tags) == len(given) else None


def _fault(text: str, word: str, start: int, end: int, before: int) -> tuple[str, str] | None:
    """The problem of a token's bounds as (code, message), or None; `before` is the end of the previous token."""
    if start >= end:
        return "empty", _("The start {start} must be before the end {end}.", start, end)
    if end > len(text):
        return "outside", _("The token ends at {end}, but the text has only {count} characters.", end, len(text))
    if start < before:
        return "order", _("The token at {start} starts before the previous one ends ({before}).", start, before)
    if text[start:end] != word:
        return "quote", _("The text at {start}-{end} differs from the token in this row.", start, end)
    return None
