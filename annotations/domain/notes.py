"""A note as it comes out of a file, and what can be wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from annotations.domain.names import bad_character
from annotations.domain.spans import Span

NAME_LENGTH: Final = 255


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to say about a file, and about one line of it where `line` (1-based) is given.

    `code` is a short word for programs. The message is for people; it may hold label names, offsets and file names, and
    never holds the text of a note.
    """

    file: str
    line: int | None
    code: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.message}"


class NoteError(Exception):
    """A note is refused whole; `problems` says why, all of it. Permanent: the same file will be refused again."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: list[Problem] = list(problems)
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(slots=True)
class ParsedNote:
    """A note that was read: its text exactly as in the file, and its spans (None: there was no annotation file)."""

    name: str
    text: str
    spans: list[Span] | None
    warnings: list[Problem] = field(default_factory=list)
    patient_id: str = ""


def check_name(name: str) -> str:
    """The name itself, if it can name a note: a relative path with `/`, without `..`, that can't lead out of a folder.

    Raises NoteError.
    """
    fault = _name_fault(name)
    if fault:
        shown = ascii(name if len(name) <= 80 else name[:77] + "...")[1:-1]
        raise NoteError([Problem(shown, None, "name", f"not a usable name: {fault}")])
    return name


def _name_fault(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > NAME_LENGTH:
        return f"it has {len(name)} characters, and at most {NAME_LENGTH} are allowed"
    if bad := bad_character(name):
        return f"it holds {bad}, a control character or one that turns the direction of text"
    if "\\" in name:
        return "it holds a backslash; folders are separated by '/'"
    if name.startswith("/"):
        return "it starts with '/'; names are relative"
    parts = name.split("/")
    if ".." in parts or "." in parts:
        return "it holds '.' or '..' as a folder"
    if "" in parts:
        return "it holds an empty folder name"
    return ""


def decode_utf8(data: bytes, file: str) -> str:
    """The text of a file, nothing dropped: a byte order mark stays. Raises NoteError if it isn't UTF-8 or holds NUL."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: the byte at offset {error.start} (0x{data[error.start]:02x}) can't be read"
        raise NoteError([Problem(file, None, "utf8", message)]) from None
    return check_text(text, file)


def check_text(text: str, file: str) -> str:
    """The text itself, if it can be stored. Raises NoteError for NUL and half a surrogate pair (JSON can bring one)."""
    at = text.find("\0")
    if at >= 0:
        raise NoteError([Problem(file, None, "nul", f"holds NUL (character {at}), which can't be stored")])
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"holds half a surrogate pair (character {error.start}), which can't be stored"
        raise NoteError([Problem(file, None, "surrogate", message)]) from None
    return text
