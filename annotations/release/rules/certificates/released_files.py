"""Reading released notes from files in any export format, to compare them with a certificate."""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final, TypeVar

from annotations.formats import FORMATS, detected
from annotations.formats.base import LOSSES, NAMES, LoadedFiles, NoteFiles, only_note
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import unquoted
from annotations.formats.notes import NoteError
from annotations.release.rules.certificates.signatures import CertificateError, open_certificate
from annotations.text.hashes import gold_hash, text_sha256
from annotations.text.spans import Span

MANIFEST: Final = "release.json"
SIGNATURE: Final = "release.json.sig"
_OF_BRAT: Final = frozenset({"annotation.conf", "visual.conf", "tools.conf", "kb_shortcuts.conf"})
BESIDE: Final = _OF_BRAT | {MANIFEST, SIGNATURE, LOSSES, NAMES, "certificate.json", "certificate.pdf"}
"""Files of an export that are not notes. The signed list of files covers them."""

NOTES_JSONL: Final = "notes.jsonl"
NOTES_CSV: Final = "notes.csv"
SPANS_CSV: Final = "spans.csv"
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, csv_reading.Error, NoteError)

# Endings of annotation files beside text files. Here, a text counts even if its annotations can't be read.
_BESIDE_TEXTS: Final = {"text": "", "brat": "ann", "conll": "conll"}

Load = Callable[[str], bytes]
Read = TypeVar("Read")
Row = tuple[str, str, list[tuple[int, int, str]] | None]
"""A note: name, SHA-256 of its text, spans (None where the format or the file has none)."""


class ReleasedFiles:
    """Files by their names, and a function that reads one; it raises NoteError. `release.json` is not signed."""

    def __init__(self, names: Collection[str], load: Load) -> None:
        self.names, self.load = names, load

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file; empty where it can't be read."""
        try:
            return hashlib.sha256(self.load(name)).hexdigest()
        except NoteError:
            return ""

    def _said(self, read: Callable[[Any], Read]) -> Read | None:
        """What `release.json` says; None if it doesn't, or is not there."""
        try:
            return read(json.loads(self.load(MANIFEST))) if MANIFEST in self.names else None
        except _UNREADABLE:
            return None

    @cached_property
    def codes(self) -> list[str] | None:
        """The written codes, if `release.json` says that labels were written in another way."""
        return self._said(lambda found: list(map(str, found["labels"]["written"])))

    @cached_property
    def edition(self) -> str | None:
        """Which release was exported after which decisions, as `release.json` says; None if there is none to read."""
        return self._said(lambda found: str(found.get("edition", "")))

    @cached_property
    def listed(self) -> dict[str, str]:
        """The SHA-256 of files by name, as `release.json` lists them; empty without it."""
        found = self._said(lambda found: {str(file["name"]): str(file["sha256"]) for file in found["files"]})
        return found or {}

    def certificates(self, json: bytes) -> list[str]:
        """The files that are this certificate, as JSON or as an intact PDF with it."""
        found = []
        for name in self.names:
            if name.endswith((".json", ".pdf")) and name != MANIFEST:
                with suppress(CertificateError, NoteError):
                    if open_certificate(self.load(name)).json == json:
                        found.append(name)
        return found


def texts_hash(notes: Iterable[tuple[str, str]]) -> str:
    """A hash of names and text hashes, for formats that have no spans: `gold_hash` of the notes without spans."""
    return gold_hash((name, sha256, ()) for name, sha256 in notes)


def certificate_names(content: Mapping[str, Any]) -> set[str]:
    """The names that a certificate may have among the files without being in their signed list."""
    own = f"release-{content.get('release')}-certificate-{content.get('number')}"
    return {f"{stem}.{ending}" for stem in ("certificate", "signed", own) for ending in ("json", "pdf")}


def _span(one: Mapping[str, Any]) -> tuple[int, int, str]:
    return int(one["start"]), int(one["end"]), str(one["label"])


def _table(load: Load, file: str) -> Iterator[dict[str, str]]:
    rows = csv_reading.DictReader(io.StringIO(load(file).decode("utf-8-sig"), newline=""))
    for row in rows:
        yield {column: unquoted(cell) for column, cell in row.items()}


class FolderContent:
    """The notes among files. `content` is the content hash, or None where not every note has spans.

    `labels`: the label codes that spans may have. `names` are names of notes, `extra` names of files that belong to no
    note, `unreadable` those that can't be read, `twice` names of notes that occur twice.
    """

    def __init__(self, files: ReleasedFiles, labels: Collection[str]) -> None:
        self._load, self._labels = files.load, {code: code for code in [*labels, *(files.codes or ())]}
        self.extra: list[str] = []
        self.unreadable: list[str] = []
        own = sorted(name for name in files.names if name not in BESIDE)
        self.format = _format_of(own, files.load)
        readers = {"jsonl": self._lines, "csv": self._tables, **dict.fromkeys(_BESIDE_TEXTS, self._texts)}
        rows = list(readers.get(self.format, self._notes)(own))
        named = self._readable(NAMES, self._named) if NAMES in files.names else None
        rows = [((named or {}).get(name, name), sha256, spans) for name, sha256, spans in rows]
        self.names = [name for name, _, _ in rows]
        self.twice = [name for name, number in Counter(self.names).items() if number > 1]
        self.texts = texts_hash([(name, sha256) for name, sha256, _ in rows])
        self.content: str | None = None
        if rows and all(spans is not None for _, _, spans in rows):
            self.content = gold_hash((name, sha256, spans or ()) for name, sha256, spans in rows)

    def _readable(self, name: str, read: Callable[[], Read]) -> Read | None:
        """What is read of a file; None where it can't be read, which is noted."""
        try:
            return read()
        except _UNREADABLE:
            self.unreadable.append(name)
            return None

    def _named(self) -> dict[str, str]:
        """The names of the notes whose files are named in another way, by the names of these files without endings."""
        return {row["file"]: row["name"] for row in _table(self._load, NAMES)}

    def _lines(self, files: Sequence[str]) -> list[Row]:
        self.extra += [name for name in files if name != NOTES_JSONL]

        def rows() -> list[Row]:
            lines = [json.loads(line) for line in self._load(NOTES_JSONL).decode().split("\n") if line]
            return [(row["name"], text_sha256(row["text"]), list(map(_span, row["spans"]))) for row in lines]

        return self._readable(NOTES_JSONL, rows) or []

    def _tables(self, files: Sequence[str]) -> list[Row]:
        """Notes of a table of texts (columns note, text) and a table of spans (note, start, end, label)."""
        self.extra += [name for name in files if name not in (NOTES_CSV, SPANS_CSV)]

        def by_note() -> dict[str, list[tuple[int, int, str]]]:
            spans: dict[str, list[tuple[int, int, str]]] = {}
            for row in _table(self._load, SPANS_CSV):
                spans.setdefault(row["note"], []).append(_span(row))
            return spans

        def texts() -> list[tuple[str, str]]:
            return [(row["note"], text_sha256(row["text"])) for row in _table(self._load, NOTES_CSV)]

        spans = self._readable(SPANS_CSV, by_note) if SPANS_CSV in files else None
        rows = self._readable(NOTES_CSV, texts) or []
        # Spans of a note that is not there show that the tables don't belong together.
        if spans is not None and spans.keys() - {name for name, _ in rows}:
            spans = None
        return [(name, sha256, None if spans is None else spans.get(name, [])) for name, sha256 in rows]

    def _notes(self, files: Sequence[str]) -> Iterator[Row]:
        """Notes of a format that holds their texts, too."""
        format = FORMATS[self.format]
        groups, problems = format.group(files)
        self.extra += [problem.file for problem in problems]
        for group in groups:
            for note in format.read_many(group, LoadedFiles(self._load), self._labels):
                if isinstance(note, NoteError):
                    self.unreadable += sorted({problem.file for problem in note.problems} - set(self.unreadable))
                else:
                    yield note.name, text_sha256(note.text), None if note.spans is None else _bounds(note.spans)

    def _texts(self, files: Sequence[str]) -> Iterator[Row]:
        """Notes of text files, each perhaps with a file of annotations beside it."""
        ending = _BESIDE_TEXTS[self.format]
        texts = {name[:-4] for name in files if name.endswith(".txt")}
        beside = {name for name in files if ending and name.endswith(f".{ending}") and name.rpartition(".")[0] in texts}
        self.extra += [name for name in files if not name.endswith(".txt") and name not in beside]
        for note in sorted(texts):
            file, annotations = f"{note}.txt", f"{note}.{ending}"
            sha256 = self._readable(file, partial(self._text_hash, file))
            if sha256:
                parts = NoteFiles(note, {"txt": file, ending: annotations})
                read = partial(self._annotated, parts)
                yield note, sha256, self._readable(annotations, read) if annotations in beside else None

    def _text_hash(self, file: str) -> str:
        return text_sha256(self._load(file).decode())

    def _annotated(self, parts: NoteFiles) -> list[tuple[int, int, str]]:
        parsed = only_note(FORMATS[self.format].read_many(parts, LoadedFiles(self._load), self._labels))
        return _bounds(parsed.spans or [])


def _bounds(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label) for span in spans]


def _format_of(files: Sequence[str], load: Load) -> str:
    if NOTES_JSONL in files:
        return "jsonl"
    if NOTES_CSV in files:
        return "csv"
    return detected(files, LoadedFiles(load))
