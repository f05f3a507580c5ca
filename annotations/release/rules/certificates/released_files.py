"""Reading released notes from files in any export format, to compare them with a certificate."""

import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from annotations.formats import FORMATS, detected
from annotations.formats.base import LOSSES, NAMES, LoadedFiles, NoteFiles, only_note
from annotations.formats.files import csv_reading
from annotations.formats.files.csv_files import unquoted
from annotations.formats.notes import NoteError
from annotations.release.rules.certificates.signatures import CertificateError, open_certificate
from annotations.text.hashes import gold_hash, text_sha256

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


@dataclass
class FolderContent:
    """What a folder holds. `content` is the content hash, or None where not every note has spans.

    `relabeled`: whether `release.json` says that labels were written in another way. `names` are names of notes,
    `extra` names of files that belong to no note, `unreadable` those that can't be read.
    """

    format: str
    names: list[str] = field(default_factory=list)
    texts: str = ""
    content: str | None = None
    relabeled: bool = False
    spans: int = 0
    extra: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)

    def readable(self, name: str, read: Callable[[], Read]) -> Read | None:
        """What is read of a file; None where it can't be read, which is noted."""
        try:
            return read()
        except _UNREADABLE:
            self.unreadable.append(name)
            return None


def texts_hash(notes: Iterable[tuple[str, str]]) -> str:
    """A hash of names and text hashes, for formats that have no spans: `gold_hash` of the notes without spans."""
    return gold_hash((name, sha256, ()) for name, sha256 in notes)


def certificates_among(names: Collection[str], load: Load, json: bytes) -> list[str]:
    """The files that are this certificate, as JSON or as an intact PDF with it."""
    found = []
    for name in names:
        if name.endswith((".json", ".pdf")) and name != MANIFEST:
            try:
                if open_certificate(load(name)).json == json:
                    found.append(name)
            except (CertificateError, NoteError):
                continue
    return found


def certificate_names(content: Mapping[str, Any]) -> set[str]:
    """The names that a certificate may have among the files without being in their signed list."""
    own = f"release-{content.get('release')}-certificate-{content.get('number')}"
    return {f"{stem}.{ending}" for stem in ("certificate", "signed", own) for ending in ("json", "pdf")}


def read_released(names: Collection[str], load: Load, labels: Collection[str]) -> FolderContent:
    """Read all notes among the files `names`. `labels` are the label codes that spans may have."""
    files = sorted(name for name in names if name not in BESIDE)
    found = FolderContent(_format_of(files, load), beside=sorted(name for name in names if name in BESIDE))
    if codes := relabeled(names, load):
        labels = [*labels, *codes]
    found.relabeled = codes is not None
    rows: list[Row] = []
    if found.format == "jsonl":
        rows += _from_lines(files, load, found)
    elif found.format == "csv":
        rows += _from_tables(files, load, found)
    elif found.format in _BESIDE_TEXTS:
        rows += _from_folder(files, load, labels, found)
    else:
        rows += _from_format(files, load, labels, found)
    named = _named(names, load, found)
    rows = [(named.get(name, name), sha256, spans) for name, sha256, spans in rows]
    seen: set[str] = set()
    for name, _, _ in rows:
        if name in seen:
            found.twice.append(name)
        seen.add(name)
    found.names = [name for name, _, _ in rows]
    found.texts = texts_hash([(name, sha256) for name, sha256, _ in rows])
    if rows and all(spans is not None for _, _, spans in rows):
        found.content = gold_hash((name, sha256, spans or ()) for name, sha256, spans in rows)
        found.spans = sum(len(spans or ()) for _, _, spans in rows)
    return found


def _named(names: Collection[str], load: Load, found: FolderContent) -> dict[str, str]:
    """The names of the notes whose files are named in another way, by the names of these files without endings."""
    if NAMES not in names:
        return {}
    return found.readable(NAMES, lambda: {row["file"]: row["name"] for row in _table(load, NAMES)}) or {}


def _format_of(files: Sequence[str], load: Load) -> str:
    if NOTES_JSONL in files:
        return "jsonl"
    if NOTES_CSV in files:
        return "csv"
    return detected(files, LoadedFiles(load))


def _from_lines(files: Sequence[str], load: Load, found: FolderContent) -> list[Row]:
    found.extra += [name for name in files if name != NOTES_JSONL]

    def rows() -> list[Row]:
        lines = [json.loads(line) for line in load(NOTES_JSONL).decode().split("\n") if line]
        return [(row["name"], text_sha256(row["text"]), list(map(_span, row["spans"]))) for row in lines]

    return found.readable(NOTES_JSONL, rows) or []


def _span(one: Mapping[str, Any]) -> tuple[int, int, str]:
    return int(one["start"]), int(one["end"]), str(one["label"])


def _table(load: Load, file: str) -> Iterator[dict[str, str]]:
    rows = csv_reading.DictReader(io.StringIO(load(file).decode("utf-8-sig"), newline=""))
    for row in rows:
        yield {column: unquoted(cell) for column, cell in row.items()}


def _from_tables(files: Sequence[str], load: Load, found: FolderContent) -> list[Row]:
    """Notes of a table of texts (columns note, text) and a table of spans (note, start, end, label)."""
    found.extra += [name for name in files if name not in (NOTES_CSV, SPANS_CSV)]

    def by_note() -> dict[str, list[tuple[int, int, str]]]:
        spans: dict[str, list[tuple[int, int, str]]] = {}
        for row in _table(load, SPANS_CSV):
            spans.setdefault(row["note"], []).append(_span(row))
        return spans

    def texts() -> list[tuple[str, str]]:
        return [(row["note"], text_sha256(row["text"])) for row in _table(load, NOTES_CSV)]

    spans = found.readable(SPANS_CSV, by_note) if SPANS_CSV in files else None
    rows = found.readable(NOTES_CSV, texts) or []
    # Spans of a note that is not there show that the tables don't belong together.
    if spans is not None and spans.keys() - {name for name, _ in rows}:
        spans = None
    return [(name, sha256, None if spans is None else spans.get(name, [])) for name, sha256 in rows]


def _from_format(files: Sequence[str], load: Load, labels: Collection[str], found: FolderContent) -> Iterator[Row]:
    """Notes of a format that holds their texts, too."""
    format = FORMATS[found.format]
    groups, problems = format.group(files)
    found.extra += [problem.file for problem in problems]
    codes = {code: code for code in labels}
    for group in groups:
        for note in format.read_many(group, LoadedFiles(load), codes):
            if isinstance(note, NoteError):
                found.unreadable += sorted({problem.file for problem in note.problems} - set(found.unreadable))
                continue
            spans = None if note.spans is None else [(span.start, span.end, span.label) for span in note.spans]
            yield note.name, text_sha256(note.text), spans


def _from_folder(files: Sequence[str], load: Load, labels: Collection[str], found: FolderContent) -> Iterator[Row]:
    ending = _BESIDE_TEXTS[found.format]
    texts = {name[:-4] for name in files if name.endswith(".txt")}
    beside = {name for name in files if ending and name.endswith(f".{ending}")}
    codes = {code: code for code in labels}
    for name in files:
        known = name[:-4] in texts if name.endswith(".txt") else name in beside and name.rpartition(".")[0] in texts
        if not known:
            found.extra.append(name)
    for note in sorted(texts):
        file, annotations = f"{note}.txt", f"{note}.{ending}"
        parts = NoteFiles(note, {"txt": file, ending: annotations})

        def text_hash(file: str = file) -> str:
            return text_sha256(load(file).decode())

        def annotated(parts: NoteFiles = parts) -> list[tuple[int, int, str]]:
            parsed = only_note(FORMATS[found.format].read_many(parts, LoadedFiles(load), codes))
            return [(span.start, span.end, span.label) for span in parsed.spans or []]

        if sha256 := found.readable(file, text_hash):
            yield note, sha256, found.readable(annotations, annotated) if annotations in beside else None


def _said(names: Collection[str], load: Load, read: Callable[[Any], Read]) -> Read | None:
    """What `release.json` says, which is not signed; None if it doesn't, or is not there."""
    try:
        return read(json.loads(load(MANIFEST))) if MANIFEST in names else None
    except _UNREADABLE:
        return None


def relabeled(names: Collection[str], load: Load) -> list[str] | None:
    """The written codes, if `release.json` says that labels were written in another way. It is not signed."""
    return _said(names, load, lambda found: list(map(str, found["labels"]["written"])))


def edition_of(names: Collection[str], load: Load) -> str | None:
    """Which release was exported after which decisions, as `release.json` says; None if there is none to read."""
    return _said(names, load, lambda found: str(found.get("edition", "")))


def manifest_of(names: Collection[str], load: Load) -> dict[str, str]:
    """The SHA-256 of files by name, as `release.json` lists them; empty without it. It is not signed."""
    listed = _said(names, load, lambda found: {str(file["name"]): str(file["sha256"]) for file in found["files"]})
    return listed or {}
