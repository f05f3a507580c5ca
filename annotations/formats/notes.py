"""Notes as read from files and as written to them, and the problems that a file can have."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, ParamSpec, TypeVar

from annotations.text.names import bad_character
from annotations.text.spans import Span
from annotations.text.wording import gettext as _

NAME_LENGTH: Final = 255
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a file, or of one of its lines if `line` (1-based) is given.

    `code` is a short word for programs. The message is a sentence for people; it may contain label names, offsets and
    file names, but never the text of a note.
    """

    file: str
    line: int | None
    code: str
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else _("{file}, line {line}", self.file, self.line)
        return f"{where}: {self.message}"


class NoteError(Exception):
    """A note can't be read; `problems` lists all reasons. The error is permanent: another try fails in the same way."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: list[Problem] = list(problems)
        super().__init__(" ".join(map(str, self.problems)))


def outcome(read: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T | NoteError:
    """What a function returns, or the NoteError that it raises."""
    try:
        return read(*args, **named)
    except NoteError as error:
        return error


class NotePart(NamedTuple):
    """A stretch of a note's text that comes from one part of a document. `number` is 0 for the only one of a kind."""

    start: int
    end: int
    kind: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.number}" if self.number else self.kind


@dataclass(slots=True)
class ParsedNote:
    """A note from a file, and its spans (None if there is no annotation file).

    Its text is exactly as in the file, or extracted from the document `file`. Then `kind` is that of the document, and
    `encoding` empty for documents that state their own. `cleaned` counts the changes of each clean-up rule that changed
    anything. `parts` is the source map: parts are in order and don't overlap; only white space is between them. `ocr`
    is the mean confidence of the words (0 to 1) if OCR read the text, else None.
    """

    name: str
    text: str
    spans: list[Span] | None
    warnings: list[Problem] = field(default_factory=list)
    """They never quote the text."""
    patient_id: str = ""
    skipped: dict[str, int] = field(default_factory=dict)
    """Spans that the import leaves out on request, by label as written in the file."""
    layers: dict[str, dict[str, str]] = field(default_factory=dict)
    """The layers of the file's project that its spans come from, as `TYPE:FEATURE`, with its tags by label (UIMA)."""
    file: str = ""
    kind: str = ""
    encoding: str = ""
    cleaned: dict[str, int] = field(default_factory=dict)
    parts: list[NotePart] = field(default_factory=list)
    ocr: float | None = None

    @property
    def places(self) -> list[tuple[int, int, str]]:
        """The offsets of each part (code points, end-exclusive) and its name, such as “page 3”."""
        return [(part.start, part.end, str(part)) for part in self.parts]


@dataclass(frozen=True, slots=True)
class OutNote:
    """A note to write. Labels are codes; every span must lie inside the text."""

    name: str
    text: str
    spans: Iterable[Span]


@dataclass(frozen=True, slots=True)
class Loss:
    """A span that a format can't represent completely. `reason` is a sentence."""

    note: str
    span: Span
    reason: str


def check_name(name: str) -> str:
    """Return the name if it can name a note: a relative path with `/`, without `..`. Raises NoteError otherwise."""
    fault = _name_fault(name)
    if fault:
        shown = ascii(name if len(name) <= 80 else name[:77] + "...")[1:-1]
        raise NoteError([Problem(shown, None, "name", fault)])
    return name


def _name_fault(name: str) -> str:
    if not name:
        return _("The name of the note is empty.")
    if len(name) > NAME_LENGTH:
        return _("The name has {count} characters; at most {most} are allowed.", len(name), NAME_LENGTH)
    if bad := bad_character(name):
        return _(
            "The name contains {bad}, a control character or one that changes the direction of text. Remove it.", bad
        )
    if "\\" in name:
        return _("The name contains a backslash. Separate folders with “/”.")
    if name.startswith("/"):
        return _("The name starts with “/”. Use a relative path.")
    parts = name.split("/")
    if ".." in parts or "." in parts:
        return _("The name contains “.” or “..” as a folder. Use a path without them.")
    if "" in parts:
        return _("The name contains an empty folder name. Use a single “/” between folders.")
    return ""


def decode_utf8(data: bytes, file: str) -> str:
    """The complete text of a file, with any byte order mark. Raises NoteError if it isn't UTF-8 or contains NUL.

    The problem names the line.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        message = _(
            "The file is not UTF-8: the byte {byte} at offset {start} is not valid. Save it as UTF-8.",
            *(byte, error.start),
        )
        raise NoteError([Problem(file, data.count(b"\n", 0, error.start) + 1, "utf8", message)]) from None
    at = text.find("\0")
    if at >= 0:
        raise NoteError([_nul(file, text.count("\n", 0, at) + 1, at)])
    return text


def check_text(text: str, file: str) -> str:
    """Return the text if it can be stored. Raises NoteError for NUL or an unpaired surrogate (possible in JSON)."""
    at = text.find("\0")
    if at >= 0:
        raise NoteError([_nul(file, None, at)])
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        message = _(
            "The text contains an unpaired surrogate (character {start}), which can't be stored. Remove it.",
            error.start,
        )
        raise NoteError([Problem(file, None, "surrogate", message)]) from None
    return text


def _nul(file: str, line: int | None, at: int) -> Problem:
    message = _("The text contains NUL (character {at}), which can't be stored. Remove it.", at)
    return Problem(file, line, "nul", message)
