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
from dataclasses import dataclass
from operator import le, lt
from posixpath import basename, dirname, join
from typing import IO, Any, Final, TypeGuard

from annotations.formats.base import Files, LabelFinder, NoteFiles, OneFileFormat, Sink, numbered_name
from annotations.formats.files.json_files import JsonError, read_object
from annotations.formats.hf.rows import BESIDE, NAME, TAGS, TEXT, TOKENS, Names, Row, Writer, names_beside, opened
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text
from annotations.formats.span_rules import SpanTaker
from annotations.formats.token_tags import REBUILT, TagReader, align, blank, is_tag, rebuilt, shown
from annotations.text.bio import OUTSIDE, as_bio, decode, encode_tokens, split_any_tag
from annotations.text.labels import LabelSetDef
from annotations.text.spans import Span
from annotations.text.tokens import Token, Tokenizer, tokenize, tokens_at

# Reading of the rows of a data set: checks of their values, the text, the places of tokens, and the spans.


_NO_TAG: Final = (-1, -100)


@dataclass(slots=True)
class _Values:
    """The checked values of a row; None for a column that it doesn't have."""

    text: str | None
    words: list[str] | None
    tags: list[str] | None
    places: list[Token] | None
    spans: list[dict[str, Any]] | None
    untagged: bool = False


class Reader:
    """Reads the rows of one file."""

    def __init__(self, note: NoteFiles, names: Names, find_label: LabelFinder) -> None:
        self._note = note
        (self._file,) = note.bundle
        self._names = names
        self._find_label = find_label
        self._read_tag = TagReader(find_label, split_any_tag)

    def read(self, row: Row | str, number: int, line: int | None) -> ParsedNote:
        """The note of a row. Raises NoteError with all its problems."""
        values = self._values(row, line)
        text, tokens, warnings = self._placed(values, line)
        name = self._name(row, number, line)
        taker = SpanTaker(check_text(text, self._file), self._file, self._find_label)
        taker.warnings += warnings
        if values.untagged:
            taker.not_kept("Tokens without a tag (-1 or -100) count as tokens with the tag O.", line)
        if values.spans is not None:
            self._check_same(values, line)
            for span in values.spans:
                taker.take(span["label"], span["start"], span["end"], line=line, attributes=_attributes(span))
        elif values.tags is not None:
            taker = self._tagged(taker, values.tags, tokens, line)
        parsed = taker.note(name)
        if values.spans is None and values.tags is None:
            parsed.spans = None
        return parsed

    def count(self, row: Row | str, line: int | None) -> Counter[str]:
        """The number of spans by label in a row. Raises NoteError."""
        values = self._values(row, line)
        if values.spans is not None:
            return Counter(span["label"] for span in values.spans if isinstance(span["label"], str))
        tags = [OUTSIDE if not is_tag(tag) else tag for tag in values.tags or []]
        return Counter(tag[2:] for tag in as_bio(tags) if tag.startswith("B-"))

    def _tagged(self, taker: SpanTaker, tags: list[str], tokens: list[Token], line: int | None) -> SpanTaker:
        """Take the spans of the tags. Labels become codes first, so that names of one label are one label."""
        found = [self._read_tag(tag) for tag in tags]
        problems = dict.fromkeys(tag for tag in found if not isinstance(tag, str))
        for code, message in problems:
            taker.refuse(code, message, line)
        codes = LabelFinder({tag[2:]: tag[2:] for tag in found if isinstance(tag, str)})
        coded = SpanTaker(taker.text, self._file, codes)
        coded.problems, coded.warnings = taker.problems, taker.warnings
        if not problems:
            for span in decode(tokens, as_bio(tag for tag in found if isinstance(tag, str))):
                coded.take(span.label, span.start, span.end, line=line)
        return coded

    def _name(self, row: Row | str, number: int, line: int | None) -> str:
        """The name of the note. Numbers are names only together with the name of the file."""
        numbered = numbered_name(self._note, number)
        if isinstance(row, str):
            return numbered
        name, identity = (row.get(column) for column in NAME)
        if isinstance(identity, str) and identity.isdecimal():
            identity = ""
        found = name or identity
        if not isinstance(found, str) or not found:
            return numbered
        try:
            return check_name(found)
        except NoteError as error:
            raise NoteError(Problem(self._file, line, each.code, each.message) for each in error.problems) from None

    def _refused(self, code: str, message: str, line: int | None) -> NoteError:
        return NoteError([Problem(self._file, line, code, message)])

    def _values(self, row: Row | str, line: int | None) -> _Values:
        if isinstance(row, str):
            raise self._refused("record", row, line)
        text, words = _first(row, TEXT), _first(row, TOKENS)
        tags_column = next((column for column in TAGS if _is_list(row.get(column), (str, int))), TAGS[0])
        tags = row.get(tags_column)
        if not isinstance(text, str | None) or not (words is None or _is_list(words, (str,))):
            message = "“text” must be a text, and “tokens” a list of texts. Correct the row."
            raise self._refused("row", message, line)
        if text is None and words is None:
            message = "The row has neither “text” nor “tokens”. Expected: “tokens” and “ner_tags”, or “text”."
            raise self._refused("row", message, line)
        spans = row.get("spans")
        given = list(spans) if _is_list(spans, (dict,)) and all(map(_is_span, spans)) else None
        values = _Values(text, words, None, _places(row, text, words), given if text is not None else None)
        if tags is None or words is None:
            return values
        if not _is_list(tags, (str, int)) or len(tags) != len(words):
            message = f"“{tags_column}” must be a list with one tag for each token, as numbers or as texts."
            raise self._refused("row", message, line)
        read = {tag: self._tag(tag, tags_column, line) for tag in set(tags)}
        values.untagged = not read.keys().isdisjoint(_NO_TAG)
        values.tags = [read[tag] for tag in tags]
        return values

    def _tag(self, tag: str | int, column: str, line: int | None) -> str:
        if isinstance(tag, str):
            return tag
        if tag in _NO_TAG:
            return OUTSIDE
        names = self._names.get(column)
        if names is None:
            message = (
                f"“{column}” has numbers, but nothing says which tags they are. Expected: class labels in the metadata "
                f"of the file, or in “{BESIDE[0]}” or “{BESIDE[2]}” beside it; or tags as text."
            )
            raise self._refused("names", message, line)
        if not 0 <= tag < len(names):
            message = f"The tag {tag} is not one of the class labels of “{column}”, which are 0 to {len(names) - 1}."
            raise self._refused("tag", message, line)
        return names[tag]

    def _placed(self, values: _Values, line: int | None) -> tuple[str, list[Token], list[Problem]]:
        """The text, the places of its tokens, and warnings."""
        if values.text is not None and values.places is not None:
            return values.text, values.places, []
        words = [shown(word) for word in values.words or []]
        kept = [at for at, word in enumerate(words) if word]
        warnings = []
        if len(kept) < len(words):
            message = f"{len(words) - len(kept)} tokens of white space are left out."
            warnings.append(Problem(self._file, line, "not kept", message))
            words = [words[at] for at in kept]
            values.tags = values.tags and [values.tags[at] for at in kept]
        if values.text is None:
            text, tokens = rebuilt([words])
            return text, tokens, [Problem(self._file, line, "rebuilt", REBUILT), *warnings]
        if values.tags is None or values.spans is not None:
            return values.text, [], warnings
        found = align(values.text, words)
        if found.missing is not None:
            message = (
                f"The token {kept[found.missing]} doesn't follow in “text” after character {found.at}. Expected: the "
                "tokens of that text, in order and unchanged; only white space may lie between them."
            )
            raise self._refused("quote", message, line)
        if not blank(values.text, found.at):
            message = f"The tokens end at character {found.at}. The rest of the text has no annotations."
            warnings.append(Problem(self._file, line, "short", message))
        if found.changed:
            message = f"{len(found.changed)} tokens are written in another way in “text”, which was kept as it is."
            warnings.append(Problem(self._file, line, "normalized", message))
        return values.text, found.tokens, warnings

    def _check_same(self, values: _Values, line: int | None) -> None:
        """Refuse a row whose tags were changed and whose spans were not, or the other way round."""
        if values.places is None or values.tags is None or not all(map(is_tag, set(values.tags))):
            return
        order = [name[2:] for name in self._names.get(TAGS[0], []) if name.startswith("B-")]
        spans = [Span(span["start"], span["end"], span["label"]) for span in values.spans or [] if _is_whole(span)]
        expected = encode_tokens(values.places, spans, label_order=order).tags
        if expected != as_bio(values.tags):
            message = "“spans” and “ner_tags” contradict each other. Remove the column that is not up to date."
            raise self._refused("tags", message, line)


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
