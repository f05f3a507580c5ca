"""Escapes of WebAnno TSV: reserved characters of values, and control characters of text."""

import re
from collections.abc import Iterator
from typing import Final

_VALUE: Final = re.compile(r"->|[\\\[\]|_;\t\n*]")
_VALUE_ESCAPE: Final = re.compile(r"\\(->|.)", re.DOTALL)
_TEXT: Final = re.compile(r"[\x00-\x0a\x0c-\x1f\\]")
_TEXT_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_OLD_ESCAPE: Final = re.compile(r"\\(u+[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMES: Final = {"\t": "t", "\n": "n", "\f": "f", "\r": "r", "\b": "b"}
_NAMED: Final = {letter: character for character, letter in _NAMES.items()}
_STACK: Final = re.compile(r"(?:\\.|[^\\|])+|(?<![^|])(?=\||$)", re.DOTALL)
_NUMBERED: Final = re.compile(r"((?:\\.|[^\\])*?)(?:\[([0-9]{1,9})\])?", re.DOTALL)


def escape_value(value: str) -> str:
    """A value of a feature for a column."""
    return _VALUE.sub(lambda match: "\\" + _NAMES.get(match[0], match[0]), value)


def unescape_value(value: str) -> str:
    return _VALUE_ESCAPE.sub(lambda match: {"t": "\t", "n": "\n"}.get(match[1], match[1]), value)


def escape_text(line: str) -> str:
    """A line of text for `#Text=`."""
    return _TEXT.sub(lambda match: "\\" + _NAMES.get(match[0], match[0]), line)


def unescape_text(line: str, *, old: bool = False) -> str:
    """A line of text from `#Text=`; with `old` as written before version 3.2, with Java's escapes of code units."""
    if "\\" not in line:
        return line
    if not old:
        return _TEXT_ESCAPE.sub(lambda match: _NAMED.get(match[1], match[1]), line)
    units = _OLD_ESCAPE.sub(_old, line)
    # Two escaped code units can be one character. An unpaired one is refused like in any other text.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _old(match: re.Match[str]) -> str:
    word = match[1]
    return chr(int(word.lstrip("u"), 16)) if len(word) > 1 else _NAMED.get(word, word)


def stacked(cell: str) -> Iterator[tuple[str, int | None]]:
    """The values of a cell, still escaped, each with its disambiguation id if it has one."""
    for value in _STACK.findall(cell) if "|" in cell else (cell,):
        match = _NUMBERED.fullmatch(value)
        if match is None:  # a backslash at the end
            yield value, None
        else:
            yield match[1], None if match[2] is None else int(match[2])
