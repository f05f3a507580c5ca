"""The browser code's strings, as `makemessages -d djangojs` would find them, without GNU gettext."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "static" / "js"
# Comments and regular expressions are skipped. Template literals with placeholders can't be translated.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<template>`(?:[^`\\]|\\.)*`)"""
    r"""|(?P<regex>(?<=[(=,:!&|?])\s*/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)""",
    re.DOTALL,
)
CALL = re.compile(r"\b(gettext|ngettext|pgettext)\(\s*$")
SAYS = {"gettext": [0], "ngettext": [0, 1], "pgettext": [1]}
# How many of the arguments are string literals.
WRITTEN = {"gettext": 1, "ngettext": 2, "pgettext": 2}


@dataclass(frozen=True)
class Message:
    file: str
    function: str
    words: tuple[str, ...]  # the strings to translate
    context: str
    after: str  # the code after the last string, to the end of the file


@dataclass(frozen=True)
class Literal:
    file: str
    text: str
    before: str
    after: str
    marked: bool


def files() -> list[Path]:
    return sorted(path for path in FOLDER.rglob("*.js") if path.name != "translating.js")


def literals(path: Path) -> Iterator[Literal]:
    """Yield every string and template literal of a file, with 60 characters of the code on either side."""
    source, name = path.read_text(), str(path.relative_to(FOLDER))
    left = 0
    for token in TOKEN.finditer(source):
        if token.lastgroup not in ("string", "template"):
            continue
        before, after = source[max(0, token.start() - 60) : token.start()], source[token.end() : token.end() + 60]
        if call := CALL.search(before):
            left = WRITTEN[call[1]]
        elif not re.search(r"[\"'],\s*$", before):
            left = 0
        marked = left > 0 and token.lastgroup == "string"
        left -= 1
        yield Literal(name, token[0][1:-1], before, after, marked)


def messages(path: Path) -> Iterator[Message]:
    """Yield every call that marks a string, as the extraction finds it."""
    source, name = path.read_text(), str(path.relative_to(FOLDER))
    text = r'"((?:[^"\\]|\\.)*)"'
    for call in re.finditer(rf"\b([np]?gettext)\(\s*{text}(?:\s*,\s*{text})?", source):
        words = [call[2], call[3]]
        spoken = tuple(word for at, word in enumerate(words) if at in SAYS[call[1]] and word is not None)
        yield Message(name, call[1], spoken, call[2] if call[1] == "pgettext" else "", source[call.end() :])


def calls(path: Path) -> int:
    """Count the calls that mark strings, however they are written."""
    return len(re.findall(r"\b[np]?gettext\(", path.read_text()))
