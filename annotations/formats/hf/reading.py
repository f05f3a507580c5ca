"""Reading of the rows of a data set: checks of their values, the text, the places of tokens, and the spans."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from operator import le, lt
from typing import Any, Final, TypeGuard

from annotations.formats.aligning import REBUILT, align, blank, rebuilt, shown
from annotations.formats.base import LabelFinder, NoteFiles, numbered_name
from annotations.formats.files.strict_json import JsonError, read_object
from annotations.formats.hf.features import BESIDE, Names
from annotations.formats.hf.rows import NAME, TAGS, TEXT, TOKENS, Row
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text
from annotations.formats.tags import TagReader, is_tag
from annotations.formats.taking import SpanTaker
from annotations.text.bio import OUTSIDE, as_bio, decode, encode_tokens, split_any_tag
from annotations.text.spans import Span
from annotations.text.tokens import Token, tokens_at

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
