"""Strict parsing of JSON from requests and files, limited to values that a database can store."""

import json
import math
import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Collection, Iterator
from typing import IO, Any, Final

from annotations.text.names import unkeepable
from annotations.text.wording import WordedError, gettext_noop
from annotations.text.wording import gettext as _

DEEPEST: Final = 12
_LEAST, _MOST = -(2**63), 2**63 - 1


class JsonError(WordedError, ValueError):
    """Invalid JSON. The message is a sentence that says what is wrong, and never quotes the input."""


# NUL and halves of surrogate pairs can be in JSON only as escapes. This also finds whole pairs.
ODD: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def read_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises JsonError as `read_json` does, and if the value is not an object."""
    found = read_json(data)
    if not isinstance(found, dict):
        raise JsonError("The request must be a JSON object.")
    return found


def read_json(data: bytes) -> Any:
    """Parse a JSON value in UTF-8.

    Raises JsonError for invalid JSON, duplicate keys, NaN and Infinity, numbers beyond 64 bits, more than DEEPEST
    levels, and text with NUL or an unpaired surrogate.
    """
    try:
        text = data.decode()
        found = _STRICT.decode(text)
    except JsonError:
        raise
    except (ValueError, RecursionError):
        raise JsonError("The request is not valid JSON.") from None
    # All texts are looked for, since that also finds too many levels.
    texts = list(texts_in(found))
    if ODD.search(text) and any(map(unkeepable, texts)):
        raise JsonError("The request contains a character that can't be stored (NUL or an unpaired surrogate).")
    return found


def strict_decoder(subject: str) -> json.JSONDecoder:
    """A decoder that raises JsonError for duplicate keys, NaN and Infinity, and numbers beyond 64 bits.

    Messages begin with the subject, for example “The request”. Invalid JSON raises ValueError or RecursionError.
    """

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise JsonError("{subject} names a field twice.", _(subject))
        return found

    def whole(word: str) -> int:
        # A longer number is out of range whatever its digits are, and parsing it would take long.
        value = int(word) if len(word) <= len(str(_LEAST)) else _MOST + 1
        if not _LEAST <= value <= _MOST:
            raise JsonError("{subject} contains a number that is out of range.", _(subject))
        return value

    def real(word: str) -> float:
        value = float(word)
        if not math.isfinite(value):
            raise JsonError("{subject} contains a number that is out of range.", _(subject))
        return value

    def constant(word: str) -> float:
        raise JsonError("{subject} contains {word}, which is not a JSON number.", _(subject), word)

    return json.JSONDecoder(object_pairs_hook=object_of, parse_int=whole, parse_float=real, parse_constant=constant)


_STRICT: Final = strict_decoder(gettext_noop("The request"))


def texts_in(value: Any, deepest: int = DEEPEST) -> Iterator[str]:
    """All keys and strings in a JSON value. Raises JsonError if it has more than `deepest` levels."""
    level = [value]
    for _level in range(deepest):
        if not level:
            return
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                yield each
            elif isinstance(each, dict):
                yield from each
                below += each.values()
            elif isinstance(each, list):
                below += each
        level = below
    if level:
        raise JsonError("The request has more than {most} levels.", deepest)


# Reading of files with many JSON values, one at a time: JSON lines, an array, or values one after the other.


LONGEST: Final = 64 * 1024 * 1024
"""The most characters of one value."""

_CHUNK: Final = 256 * 1024
_LEVELS: Final = 1000
_WHITE: Final = re.compile(r"[ \t\r\n]*")
_OF_RECORDS: Final = strict_decoder(gettext_noop("The record"))
_PLAIN: Final = json.JSONDecoder()
_TOO_LONG: Final = (
    gettext_noop("The record has more than {most} million characters. Split it."),
    LONGEST // 1024 // 1024,
)
_TOO_DEEP: Final = gettext_noop("The record has too many levels. Remove what does not belong to the format.")
_NOT_UTF8: Final = gettext_noop("The record is not UTF-8. Save the file as UTF-8.")
_UNKEEPABLE: Final = gettext_noop(
    "The record contains a character that can't be stored (NUL or an unpaired surrogate). Remove the character."
)


def json_records(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """The values of a file with their lines (1-based); a JsonError takes the place of a value that can't be read.

    Values are the items of an array, one on each line, or pretty-printed one after the other. After an invalid value,
    reading goes on at the next line or item; if that can't be found, the error is the last value. The file must be
    seekable; one value at a time is held in memory. Duplicate keys, NaN, numbers beyond 64 bits, NUL and unpaired
    surrogates are errors. Messages never quote the file.
    """
    first = _next_line(file)
    one_a_line = first.startswith(b"{") and (first.endswith(b"}") or _next_line(file).startswith(b"{"))
    file.seek(0)
    return _lines(file) if one_a_line else _Values(file).read()


def json_items(file: IO[bytes], names: Collection[str]) -> Iterator[tuple[int, Any]]:
    """The items of the arrays that the objects of a file have under these names, with their lines (1-based).

    The objects stand one after the other. All else is as in `json_records`.
    """
    file.seek(0)
    return _Values(file).read_arrays(names)


def _next_line(file: IO[bytes]) -> bytes:
    """The next line that isn't empty, without white space at its ends."""
    while line := file.readline(LONGEST):
        if stripped := line.removeprefix(BOM_UTF8).strip():
            return stripped
    return b""


def _lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    number = 0
    while data := file.readline(LONGEST):
        number += 1
        if len(data) == LONGEST:
            yield number, JsonError(*_TOO_LONG)
            return
        data = data.removeprefix(BOM_UTF8) if number == 1 else data
        if data.strip():
            yield number, _value(data)


def _value(data: bytes) -> Any:
    try:
        text = data.decode().rstrip()
        return _kept(_OF_RECORDS.decode(text), text, 0, len(text))
    except JsonError as error:
        return error
    except UnicodeDecodeError:
        return JsonError(_NOT_UTF8)
    except json.JSONDecodeError as error:
        return JsonError("The record is not valid JSON: {fault} (column {at}). Correct it.", _fault(error), error.colno)
    except RecursionError:
        return JsonError(_TOO_DEEP)


def _fault(error: json.JSONDecodeError) -> str:
    """What the parser says, in lower case. It never quotes the input."""
    return error.msg[0].lower() + error.msg[1:].removesuffix(" at")


def _kept(value: Any, text: str, start: int, end: int) -> Any:
    """The value, whose JSON is `text[start:end]`, or a JsonError if it contains a character that can't be stored."""
    if ODD.search(text, start, end) and any(unkeepable(each) for each in texts_in(value, _LEVELS)):
        return JsonError(_UNKEEPABLE)
    return value


class _Values:
    """Reads values one after the other, or the items of an array, from a window into the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        self._ended = False
        self._has_other_bytes = False

    def read(self) -> Iterator[tuple[int, Any]]:
        try:
            if self._next() == "[":
                yield from self._items()
                if self._next():
                    raise JsonError("The file is not valid JSON: there is something after the last record. Remove it.")
            else:
                while self._next():
                    yield self._here(), self._one()
        except JsonError as error:
            yield self._here(), error

    def read_arrays(self, names: Collection[str]) -> Iterator[tuple[int, Any]]:
        try:
            while self._next():
                yield from self._arrays(names)
        except JsonError as error:
            yield self._here(), error

    def _arrays(self, names: Collection[str]) -> Iterator[tuple[int, Any]]:
        """The items of the arrays with these names in the object that begins here."""
        self._expect("{")
        seen: set[str] = set()
        mark = self._next()
        while mark != "}":
            name = self._sound()
            if not isinstance(name, str) or name in seen:
                raise JsonError(
                    "The file is not valid JSON: a field has no name or the same name as another. Correct it."
                )
            seen.add(name)
            self._expect(":")
            if self._next() == "[" and name in names:
                yield from self._items()
            else:
                self._sound()
            mark = self._after("}", _("a field"))
        self._at += 1

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            raise JsonError("The file is not valid JSON: expected “{mark}”. Correct it.", mark)
        self._at += 1
        self._next()

    def _sound(self) -> Any:
        """The value that begins here. Raises JsonError."""
        value = self._one()
        if isinstance(value, JsonError):
            raise value
        return value

    def _items(self) -> Iterator[tuple[int, Any]]:
        self._at += 1
        mark = self._next()
        while mark != "]":
            yield self._here(), self._one()
            mark = self._after("]", _("a record"))
        self._at += 1

    def _after(self, end: str, what: str) -> str:
        """The comma after an item, which is skipped, or the end of the items. Raises JsonError for anything else."""
        mark = self._next()
        if mark not in (",", end):
            raise JsonError("The file is not valid JSON: expected “,” or “{end}” after {what}. Correct it.", end, what)
        if mark == ",":
            self._at += 1
            self._next()
        return mark

    def _next(self) -> str:
        """Skip white space; the next character, or nothing at the end of the file."""
        while True:
            match = _WHITE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._more(_CHUNK):
                return self._text[self._at : self._at + 1]

    def _one(self) -> Any:
        """The value that begins here, or a JsonError after which reading can go on. Raises JsonError otherwise."""
        size = _CHUNK
        known: JsonError | None = None
        while True:
            try:
                value, end = (_PLAIN if known else _OF_RECORDS).raw_decode(self._text, self._at)
            except JsonError as error:
                known = error
            except json.JSONDecodeError as error:
                if not self._is_cut(error) or not self._more(size):
                    raise self._broken(error) from None
                size *= 2
            except RecursionError:
                raise JsonError(_TOO_DEEP) from None
            else:
                start, self._at = self._at, end
                if self._has_other_bytes and unkeepable(self._text[start:end]):
                    return JsonError(_NOT_UTF8)
                return known or _kept(value, self._text, start, end)

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may come from the end of the window. The longest escape has 12 characters."""
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - 12

    def _broken(self, error: json.JSONDecodeError) -> JsonError:
        self._at = max(self._at, min(error.pos, len(self._text)))
        return JsonError(
            "The file is not valid JSON: {fault}. Correct it; the rest of the file was not read.", _fault(error)
        )

    def _more(self, size: int) -> bool:
        """Add to the window, and drop what was read before; whether there was more."""
        if self._ended:
            return False
        if len(self._text) - self._at > LONGEST:
            raise JsonError(*_TOO_LONG)
        self._here()
        data = self._file.read(size)
        self._ended = not data
        more = self._decoder.decode(data, final=self._ended)
        self._has_other_bytes = self._has_other_bytes or unkeepable(more)
        self._text = self._text[self._at :] + more
        self._at = self._counted = 0
        return True

    def _here(self) -> int:
        """The line of the next character to read."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line
