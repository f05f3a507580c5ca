"""Folders that Hugging Face `datasets` opens with `load_dataset(folder)`: Parquet files with a row for each note.

It writes the note's name and text, its tokens with their offsets (code points), `ner_tags` (class labels for BIO
tags), and `spans`, which also has what tags can't hold: overlapping spans, and attributes as JSON. It reads Parquet,
JSON lines and the Arrow files of `save_to_disk`, of any data set with `tokens` and `ner_tags` (numbers of class labels,
or tags as text) or with `text` and `spans`. Tokens without offsets are found in the text of the row; without a text,
one is made.
Sources: https://huggingface.co/docs/datasets/loading and https://huggingface.co/docs/hub/datasets-data-files-configuration.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from operator import le, lt
from posixpath import basename, dirname, join
from typing import IO, Any, Final, TypeGuard

from annotations.formats.base import DocumentReader, Files, LabelFinder, NoteFiles, OneFileFormat, Sink
from annotations.formats.files.json_files import JsonError, read_object
from annotations.formats.hf.rows import BESIDE, NAME, TAGS, TEXT, TOKENS, Names, Row, Writer, names_beside, opened
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text, outcome
from annotations.formats.span_rules import SpanTaker
from annotations.formats.token_tags import REBUILT, TagReader, align, blank, is_tag, rebuilt, shown
from annotations.text.bio import OUTSIDE, as_bio, decode, encode_tokens, split_any_tag
from annotations.text.labels import LabelSetDef
from annotations.text.spans import Span, Token, tokens_at
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Reading of the rows of a data set: checks of their values, the text, the places of tokens, and the spans.


_NO_TAG: Final = (-1, -100)


class _DataRow:
    """A row of a file with its checked values; None for a column that it doesn't have."""

    def __init__(self, row: Row | str, names: Names, file: str, line: int | None) -> None:
        """Raises NoteError for values of other types, and if `row` is a message."""
        self._names, self._file, self._line = names, file, line
        if isinstance(row, str):
            raise self._refused("record", row)
        self._row = row
        self.text, self.words = text, words = _first(row, TEXT), _first(row, TOKENS)
        column = next((column for column in TAGS if _is_list(row.get(column), (str, int))), TAGS[0])
        tags, spans = row.get(column), row.get("spans")
        if not isinstance(text, str | None) or not (words is None or _is_list(words, (str,))):
            raise self._refused("row", _("“text” must be a text, and “tokens” a list of texts. Correct the row."))
        if text is None and words is None:
            message = _("The row has neither “text” nor “tokens”. Expected: “tokens” and “ner_tags”, or “text”.")
            raise self._refused("row", message)
        has_spans = text is not None and _is_list(spans, (dict,)) and all(map(_is_span, spans))
        self.spans: list[dict[str, Any]] | None = spans if has_spans else None
        self.places = _places(row, text, words)
        self.tags: list[str] | None = None
        self.untagged = False
        if tags is None or words is None:
            return
        if not _is_list(tags, (str, int)) or len(tags) != len(words):
            message = _("“{column}” must be a list with one tag for each token, as numbers or as texts.", column)
            raise self._refused("row", message)
        read = {tag: self._tag(tag, column) for tag in set(tags)}
        self.untagged = not read.keys().isdisjoint(_NO_TAG)
        self.tags = [read[tag] for tag in tags]

    def note(self, numbered: str, find_label: LabelFinder) -> ParsedNote:
        """The note of the row. Raises NoteError with all its problems."""
        text, tokens, warnings = self._placed()
        name = self._name(numbered)
        taker = SpanTaker(check_text(text, self._file), self._file, find_label, line=self._line)
        taker.warnings += warnings
        if self.untagged:
            taker.not_kept(_("Tokens without a tag (-1 or -100) count as tokens with the tag O."))
        if self.spans is not None:
            self._check_same()
            for span in self.spans:
                taker.take(span["label"], span["start"], span["end"], attributes=_attributes(span))
        elif self.tags is not None:
            taker = self._tagged(taker, tokens, find_label)
        parsed = taker.note(name)
        if self.spans is None and self.tags is None:
            parsed.spans = None
        return parsed

    def _tagged(self, taker: SpanTaker, tokens: list[Token], find_label: LabelFinder) -> SpanTaker:
        """Take the spans of the tags. Labels become codes first, so that names of one label are one label."""
        found = list(map(TagReader(find_label, split_any_tag), self.tags or ()))
        problems = dict.fromkeys(tag for tag in found if not isinstance(tag, str))
        for code, message in problems:
            taker.refuse(code, message)
        codes = LabelFinder({tag[2:]: tag[2:] for tag in found if isinstance(tag, str)})
        codes.used = find_label.used
        coded = SpanTaker(taker.text, self._file, codes, line=self._line)
        coded.problems, coded.warnings = taker.problems, taker.warnings
        if not problems:
            for span in decode(tokens, as_bio(tag for tag in found if isinstance(tag, str))):
                coded.take(span.label, span.start, span.end)
        return coded

    def _name(self, numbered: str) -> str:
        """The name of the note. Numbers are names only together with the name of the file."""
        name, identity = (self._row.get(column) for column in NAME)
        if isinstance(identity, str) and identity.isdecimal():
            identity = ""
        found = name or identity
        if not isinstance(found, str) or not found:
            return numbered
        try:
            return check_name(found)
        except NoteError as error:
            raise self._refused("name", error.problems[0].message) from None

    def _refused(self, code: str, message: str) -> NoteError:
        return NoteError([Problem(self._file, self._line, code, message)])

    def _tag(self, tag: str | int, column: str) -> str:
        if isinstance(tag, str):
            return tag
        if tag in _NO_TAG:
            return OUTSIDE
        names = self._names.get(column)
        if names is None:
            message = _(
                "“{column}” has numbers, but nothing says which tags they are. Expected: class labels in the "
                "metadata of the file, or in “{file}” or “{other}” beside it; or tags as text.",
                *(column, BESIDE[0], BESIDE[2]),
            )
            raise self._refused("names", message)
        if not 0 <= tag < len(names):
            message = _(
                "The tag {tag} is not one of the class labels of “{column}”, which are 0 to {last}.",
                *(tag, column, len(names) - 1),
            )
            raise self._refused("tag", message)
        return names[tag]

    def _placed(self) -> tuple[str, list[Token], list[Problem]]:
        """The text, the places of its tokens, and warnings."""
        if self.text is not None and self.places is not None:
            return self.text, self.places, []
        words = [shown(word) for word in self.words or []]
        kept = [at for at, word in enumerate(words) if word]
        warnings: list[Problem] = []

        def warn(code: str, message: str) -> None:
            warnings.append(Problem(self._file, self._line, code, message))

        if self.text is None:
            warn("rebuilt", _(REBUILT))
        if len(kept) < len(words):
            warn("not kept", _("{count} tokens of white space are left out.", len(words) - len(kept)))
            words = [words[at] for at in kept]
            self.tags = self.tags and [self.tags[at] for at in kept]
        if self.text is None:
            return *rebuilt([words]), warnings
        if self.tags is None or self.spans is not None:
            return self.text, [], warnings
        found = align(self.text, words)
        if found.missing is not None:
            message = _(
                "The token {token} doesn't follow in “text” after character {at}. Expected: the tokens of that text, "
                "in order and unchanged; only white space may lie between them.",
                *(kept[found.missing], found.at),
            )
            raise self._refused("quote", message)
        if not blank(self.text, found.at):
            warn("short", _("The tokens end at character {at}. The rest of the text has no annotations.", found.at))
        if found.changed:
            count = len(found.changed)
            warn("normalized", _("{n} tokens are written differently in “text”, which was kept as it is.", count))
        return self.text, found.tokens, warnings

    def _check_same(self) -> None:
        """Refuse a row whose tags were changed and whose spans were not, or the other way round."""
        if self.places is None or self.tags is None or not all(map(is_tag, set(self.tags))):
            return
        order = [name[2:] for name in self._names.get(TAGS[0], []) if name.startswith("B-")]
        spans = [Span(span["start"], span["end"], span["label"]) for span in self.spans or [] if _is_whole(span)]
        if encode_tokens(self.places, spans, label_order=order).tags != as_bio(self.tags):
            message = _("“spans” and “ner_tags” contradict each other. Remove the column that is not up to date.")
            raise self._refused("tags", message)


def _first(row: Row, columns: Iterable[str]) -> Any:
    return next((row[column] for column in columns if row.get(column) is not None), None)


def _is_list(value: Any, types: tuple[type, ...]) -> TypeGuard[list[Any]]:
    # A few types are asked instead of many values.
    if not isinstance(value, list):
        return False
    return all(issubclass(kind, types) and kind is not bool for kind in set(map(type, value)))


def _is_span(value: dict[str, Any]) -> bool:
    return {"start", "end", "label"} <= value.keys()


def _is_whole(span: dict[str, Any]) -> bool:
    """Whether a span has the types that are written; `SpanTaker` reports others."""
    return isinstance(span["start"], int) and isinstance(span["end"], int) and isinstance(span["label"], str)


def _places(row: Row, text: str | None, words: list[str] | None) -> list[Token] | None:
    """The places of the tokens, if the row has them and they are right."""
    starts, ends = row.get("token_starts"), row.get("token_ends")
    if text is None or words is None or not _is_list(starts, (int,)) or not _is_list(ends, (int,)):
        return None
    if not len(starts) == len(ends) == len(words):
        return None
    in_order = all(map(le, [0, *ends], starts)) and all(map(lt, starts, ends))
    if not in_order or list(map(text.__getitem__, map(slice, starts, ends))) != words:
        return None
    return tokens_at(zip(starts, ends, strict=True))


def _attributes(span: dict[str, Any]) -> dict[str, str | bool]:
    given = span.get("attributes")
    if not isinstance(given, str) or not given:
        return {}
    try:
        found = read_object(given.encode())
    except (JsonError, UnicodeEncodeError):
        return {}
    return {name: value for name, value in found.items() if value is True or isinstance(value, str)}


_PARQUET: Final = b"PAR1"
_ARROW: Final = b"\xff\xff\xff\xff"
_TOKENS: Final = re.compile(rb'"(tokens|words)"\s*:\s*\[\s*["\]]')
_TAGS: Final = re.compile(rb'"(ner_tags|tags|labels|ner)"\s*:\s*\[\s*["\d\]-]')
_NOT_DATA: Final = frozenset({*BESIDE, "state.json"})


class HuggingFaceFormat(DocumentReader, OneFileFormat):
    """Reads and writes data sets."""

    name = "hf"
    endings = ("parquet", "arrow", "jsonl", "json")
    file = "data/train-00000-of-00001.parquet"

    options = frozenset({"tokenizer"})
    unique = gettext_noop("Give each row a name of its own.")

    def claims(self, name: str, head: bytes) -> bool:
        match name.rpartition(".")[2].lower():
            case "parquet":
                return head.startswith(_PARQUET)
            case "arrow":
                return head.startswith(_ARROW)
            case "jsonl" | "json":
                return bool(_TOKENS.search(head) and _TAGS.search(head))
        return False

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """The files that describe a data set belong to all its files."""
        given = list(names)
        about = {name for name in given if basename(name) in BESIDE}
        groups, problems = super().group(name for name in given if basename(name) not in _NOT_DATA)
        return [
            NoteFiles(group.name, dict(group.parts) | _described(group.bundle[0], about), group.bundle)
            for group in groups
        ], problems

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int | None, _DataRow | NoteError]]:
        with files.open(file) as stream:
            rows, names = opened(stream, file)
            names = names or _names_beside(note, files)
            for line, row in rows:
                yield line, outcome(_DataRow, row, names, file, line)

    def note_in(self, document: _DataRow, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        return document.note(name, find_label)

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        with closing(Writer(out, labels, self.tokenizer)) as writer:
            yield writer.add

    def path(self, folder: str) -> str:
        """`load_dataset` makes a split of each file named so."""
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
