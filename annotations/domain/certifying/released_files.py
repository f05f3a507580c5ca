"""Reading released notes from files in any export format, to compare them with a certificate."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import LOSSES, NoteFiles
from annotations.domain.hashing import gold_hash, text_sha256
from annotations.domain.notes import NoteError

MANIFEST: Final = "release.json"
BESIDE: Final = frozenset(
    {
        MANIFEST,
        LOSSES,
        "certificate.json",
        "certificate.pdf",
        "annotation.conf",
        "visual.conf",
        "tools.conf",
        "kb_shortcuts.conf",
    }
)
"""Files of an export that are not notes. A certificate does not cover them."""

Load = Callable[[str], bytes]
Row = tuple[str, str, list[tuple[int, int, str]] | None]
"""A note: name, SHA-256 of its text, spans (None where the format or the file has none)."""


@dataclass
class Read:
    """What a folder holds. `content` is the content hash, or None where not every note has spans.

    `names` are names of notes, `extra` names of files that belong to no note, `unreadable` those that can't be read.
    """

    format: str
    names: list[str] = field(default_factory=list)
    texts: str = ""
    content: str | None = None
    spans: int = 0
    extra: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


def texts_hash(notes: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> str:
    """A hash of names and text hashes, for formats that have no spans: `gold_hash` of the notes without spans."""
    return gold_hash((name, sha256, ()) for name, sha256 in notes)


def read_released(names: Collection[str], load: Load, labels: Collection[str]) -> Read:
    """Read all notes among the files `names`. `labels` are the label codes that spans may have."""
    files = sorted(name for name in names if name not in BESIDE)
    found = Read(_format_of(files), beside=sorted(name for name in names if name in BESIDE))
    rows: list[Row] = []
    if found.format in ("jsonl", "csv"):
        for name in files:
            if name.endswith(f".{found.format}"):
                rows += _collected(name, _JOINED[found.format](load, name), found)
            else:
                found.extra.append(name)
    else:
        rows += _from_folder(files, load, labels, found)
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


def _format_of(files: Sequence[str]) -> str:
    endings = {name.rpartition(".")[2].lower() for name in files}
    order = {"jsonl": "jsonl", "ann": "brat", "conll": "conll", "csv": "csv"}
    # A folder of texts may hold one foreign file, which is then named as extra.
    if "txt" in endings:
        order = {"ann": "brat", "conll": "conll"}
    return next((format for ending, format in order.items() if ending in endings), "text")


def _collected(file: str, rows: Iterator[Row], found: Read) -> list[Row]:
    try:
        return list(rows)
    except (ValueError, KeyError, TypeError, csv.Error):
        found.unreadable.append(file)
        return []


def _json_lines(load: Load, file: str) -> Iterator[Row]:
    for line in load(file).decode().split("\n"):
        if line:
            row = json.loads(line)
            yield row["name"], text_sha256(row["text"]), _bounds(row.get("spans"))


def _bounds(spans: Any) -> list[tuple[int, int, str]] | None:
    if spans is None:
        return None
    rows = [(one["start"], one["end"], one["label"]) if isinstance(one, dict) else tuple(one[:3]) for one in spans]
    return [(int(start), int(end), str(label)) for start, end, label in rows]


def _csv_rows(load: Load, file: str) -> Iterator[Row]:
    text = load(file).decode("utf-8-sig")
    csv.field_size_limit(2**31 - 1)
    for row in csv.DictReader(io.StringIO(text, newline="")):
        spans = row.get("spans")
        yield row["name"], text_sha256(row["text"]), _bounds(json.loads(spans)) if spans else None


_JOINED: Final[Mapping[str, Callable[[Load, str], Iterator[Row]]]] = {"jsonl": _json_lines, "csv": _csv_rows}


def _from_folder(files: Sequence[str], load: Load, labels: Collection[str], found: Read) -> Iterator[Row]:
    ending = {"brat": "ann", "conll": "conll"}.get(found.format)
    texts = {name[:-4] for name in files if name.endswith(".txt")}
    beside = {name for name in files if ending and name.endswith(f".{ending}")}
    codes = {code: code for code in labels}
    for name in files:
        known = name[:-4] in texts if name.endswith(".txt") else name in beside and name.rpartition(".")[0] in texts
        if not known:
            found.extra.append(name)
    for note in sorted(texts):
        file = f"{note}.txt"
        try:
            sha256 = text_sha256(load(file).decode())
        except (ValueError, NoteError):
            found.unreadable.append(file)
            continue
        spans = None
        annotations = f"{note}.{ending}"
        if annotations in beside and ending:
            try:
                parsed = FORMATS[found.format].read(NoteFiles(note, {"txt": file, ending: annotations}), load, codes)
                spans = [(span.start, span.end, span.label) for span in parsed.spans or []]
            except NoteError:
                found.unreadable.append(annotations)
        yield note, sha256, spans


def manifest_of(names: Collection[str], load: Load) -> dict[str, str]:
    """The SHA-256 of files by name, as `release.json` lists them; empty without it. It is not signed."""
    if MANIFEST not in names:
        return {}
    try:
        files = json.loads(load(MANIFEST)).get("files")
        return {str(name): str(sha256) for name, sha256 in files.items()} if isinstance(files, dict) else {}
    except (ValueError, AttributeError, NoteError):
        return {}
