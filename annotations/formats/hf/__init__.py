"""Folders that Hugging Face `datasets` opens with `load_dataset(folder)`: Parquet files with a row for each note.

Written are the note's name and text, its tokens with their offsets (code points), `ner_tags` (class labels for BIO
tags), and `spans`, which also has what tags can't hold: overlapping spans, and attributes as JSON. Read are Parquet,
JSON lines and the Arrow files of `save_to_disk`, of any data set with `tokens` and `ner_tags` (numbers of class labels,
or tags as text) or with `text` and `spans`. Tokens without offsets are found in the text of the row; without a text,
one is made.
Sources: https://huggingface.co/docs/datasets/loading and https://huggingface.co/docs/hub/datasets-data-files-configuration.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from posixpath import basename, dirname, join
from typing import IO, Final

from annotations.formats.base import Files, LabelFinder, NoteFiles, OneFileFormat, Sink
from annotations.formats.hf.features import BESIDE, Names, names_beside
from annotations.formats.hf.reading import Reader
from annotations.formats.hf.rows import opened
from annotations.formats.hf.writing import Writer
from annotations.formats.notes import NoteError, ParsedNote, Problem
from annotations.text.labels import LabelSetDef
from annotations.text.tokens import Tokenizer, tokenize

_PARQUET: Final = b"PAR1"
_ARROW: Final = b"\xff\xff\xff\xff"
_TOKENS: Final = re.compile(rb'"(tokens|words)"\s*:\s*\[\s*["\]]')
_TAGS: Final = re.compile(rb'"(ner_tags|tags|labels|ner)"\s*:\s*\[\s*["\d\]-]')
_NOT_DATA: Final = frozenset({*BESIDE, "state.json"})


class HuggingFaceFormat(OneFileFormat):
    """Reads and writes data sets. For writing, another tokenizer can be given."""

    name = "hf"
    endings = ("parquet", "arrow", "jsonl", "json")
    file = "data/train-00000-of-00001.parquet"

    def __init__(self, tokenizer: Tokenizer = tokenize) -> None:
        self._tokenizer = tokenizer

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        match name.rpartition(".")[2].lower():
            case "parquet":
                return head.startswith(_PARQUET)
            case "arrow":
                return head.startswith(_ARROW)
            case "jsonl" | "json":
                return bool(_TOKENS.search(head) and _TAGS.search(head))
        return False

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `OneFileFormat.group`. The files that describe a data set belong to all its files."""
        given = list(names)
        about = {name for name in given if basename(name) in BESIDE}
        groups, problems = super().group(name for name in given if basename(name) not in _NOT_DATA)
        return [
            NoteFiles(group.name, dict(group.parts) | _described(group.bundle[0], about), group.bundle)
            for group in groups
        ], problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `OneFileFormat.read_many`."""
        (file,) = note.bundle
        find_label = LabelFinder(labels)
        seen: set[str] = set()
        try:
            with files.open(file) as stream:
                rows, names = opened(stream, file)
                reader = Reader(note, names or _names_beside(note, files), find_label)
                for number, (line, row) in enumerate(rows, 1):
                    try:
                        parsed = reader.read(row, number, line)
                        if parsed.name in seen:
                            message = f"The note “{parsed.name}” occurs twice. Give each row a name of its own."
                            raise NoteError([Problem(file, line, "same name", message)])
                        seen.add(parsed.name)
                        yield parsed
                    except NoteError as error:
                        yield error
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `OneFileFormat.used_labels`."""
        (file,) = note.bundle
        with suppress(NoteError), files.open(file) as stream:
            rows, names = opened(stream, file)
            reader = Reader(note, names or _names_beside(note, files), LabelFinder({}))
            for line, row in rows:
                with suppress(NoteError):
                    yield reader.count(row, line)

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        """See `OneFileFormat.sink`."""
        writer = Writer(out, labels, self._tokenizer)
        try:
            yield writer.add
        finally:
            writer.close()

    def path(self, folder: str) -> str:
        """See `OneFileFormat.path`. `load_dataset` makes a split of each file named so."""
        return self.file.replace("train", folder.removesuffix("/") or "train")

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """The data set card."""
        return {"README.md": _CARD.format(labels=", ".join(label.code for label in labels.labels())).encode()}


_CARD: Final = """---
task_categories:
- token-classification
---
# Notes with spans

Each row is a note: `name`, `text`, `tokens` with `token_starts` and `token_ends`, `ner_tags` (BIO tags as class
labels), and `spans` (`start`, `end`, `label`, and `attributes` as JSON). Offsets count characters (code points); ends
are exclusive. Where spans overlap, a token has the tag of the longest one; `spans` has all of them.

Labels: {labels}
"""


def _described(file: str, about: set[str]) -> dict[str, str]:
    """The files of BESIDE in the folder of a file, or in the nearest folder above it."""
    found: dict[str, str] = {}
    folder = dirname(file)
    while True:
        for name in BESIDE:
            if join(folder, name) in about:
                found.setdefault(name, join(folder, name))
        if not folder:
            return found
        folder = dirname(folder)


def _names_beside(note: NoteFiles, files: Files) -> Names:
    for name in BESIDE:
        if name in note.parts:
            with suppress(NoteError):
                names = names_beside(files.load(note.parts[name]))
                if names:
                    return names
    return {}
