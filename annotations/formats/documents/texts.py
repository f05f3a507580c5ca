"""Plain text in any encoding. Its form feeds divide it into pages."""

import codecs
import io
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import IO, Final, NamedTuple

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, refused
from annotations.formats.notes import NotePart
from annotations.text.wording import gettext as _

# The encoding of a text: a byte order mark, what a person or the document says, or what the bytes look like.


HEAD: Final = 256 * 1024
"""The number of bytes from which an encoding is guessed."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings that notes are found in; guessing among all that exist is wrong more often.
_GUESSED_NAMES: Final = (
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 koi8_r mac_roman cp437 cp850 "
    "shift_jis euc_jp gb18030 big5 euc_kr"
)
_GUESSED: Final = _GUESSED_NAMES.split()
# Bytes of cp1252 that western languages use: letters with accents, typographic quotes and dashes, signs.
_WESTERN: Final = re.compile(
    rb"[\x80\x85\x91-\x97\x99\xa0\xa1\xa3\xa7\xa9-\xab\xae\xb0-\xb2\xb4-\xb7\xba-\xcf\xd1-\xdc\xdf-\xef\xf1-\xfc\xff]|\xb3(?![a-z])"
)
# Bytes of cp1254 for the letters that only Turkish has and every longer text needs, and all letters of Turkish.
_TURKISH: Final = {b"\xf0", b"\xfd", b"\xfe"}
_TURKISH_TEXT: Final = b"\xc7\xd0\xd6\xdc\xdd\xde\xe2\xe7\xee\xf0\xf6\xfb\xfc\xfd\xfe\x91\x92\x93\x94"
_TURKISH_ALL: Final = {bytes([each]) for each in _TURKISH_TEXT}
_CODE_PAGES: Final = {"mac": "mac_roman", "macintosh": "mac_roman", "x-sjis": "shift_jis", "iso-8859-1": "cp1252"}


class DetectedEncoding(NamedTuple):
    """An encoding as Python names it, and whether it was guessed from the bytes."""

    encoding: str
    guessed: bool


def find_encoding(head: bytes, chosen: str | None, stated: str | None = None, *, file: str) -> DetectedEncoding:
    """The encoding of a file by its first bytes.

    `chosen` by a person wins, then a byte order mark, UTF-8 if all bytes are valid, what the document has `stated`, and
    what the bytes look like. Raises NoteError for a chosen encoding that doesn't exist.
    """
    mark = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
    if chosen:
        name = python_name(chosen)
        if name is None:
            message = _("The encoding “{chosen}” is unknown. Choose one such as utf-8, cp1252 or utf-16.", chosen)
            raise refused(file, "encoding", message)
        # A mark of the chosen family is a mark, not text.
        return DetectedEncoding(mark if mark and mark.startswith(name.replace("_", "-")) else name, False)
    if mark:
        return DetectedEncoding(mark, False)
    if (wide := _wide(head)) is not None:
        return DetectedEncoding(wide, True)
    if is_utf8(head):
        return DetectedEncoding("utf-8", False)
    if stated and (name := python_name(stated)) and not name.startswith("utf"):
        return DetectedEncoding(name, False)
    return DetectedEncoding(_guess(head), True)


def python_name(name: str) -> str | None:
    """The name of a text encoding as Python knows it; None if there is no such encoding."""
    try:
        found = codecs.lookup(_CODE_PAGES.get(name.strip().lower(), name.strip()))
    except (LookupError, ValueError):
        return None
    # Others turn text into text or bytes into bytes.
    return found.name if getattr(found, "_is_text_encoding", True) else None


def is_utf8(head: bytes, *, whole: bool = False) -> bool:
    """Whether bytes are UTF-8; the last character may be cut off, unless they are the whole file."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def decode(data: bytes, chosen: str | None, stated: str | None = None, *, file: str) -> tuple[str, DetectedEncoding]:
    """The text of a file without its byte order mark, and its encoding. Raises NoteError if the bytes don't fit."""
    found = find_encoding(data[:HEAD], chosen, stated, file=file)
    try:
        return data.decode(found.encoding), found
    except UnicodeDecodeError as error:
        if not chosen and found.encoding == "utf-8":
            # Valid UTF-8 up to HEAD, and not beyond.
            guess = DetectedEncoding(_guess(data[max(0, error.start - HEAD // 2) : error.start + HEAD // 2]), True)
            try:
                return data.decode(guess.encoding), guess
            except UnicodeDecodeError:
                pass
        raise _not_in(found.encoding, error, file) from None


def open_text(source: IO[bytes], chosen: str | None, *, file: str) -> tuple[io.TextIOWrapper, DetectedEncoding]:
    """A long file as a stream of text, with its line breaks as they are."""
    source.seek(0)
    found = find_encoding(source.read(HEAD), chosen, file=file)
    source.seek(0)
    return io.TextIOWrapper(source, encoding=found.encoding, newline=""), found


def _not_in(encoding: str, error: UnicodeDecodeError, file: str) -> Exception:
    byte = f"0x{error.object[error.start]:02x}"
    message = _("The text is not {name}: the byte {byte} at offset {at} is not valid.", encoding, byte, error.start)
    return refused(file, "encoding", message + " " + _("Choose another encoding."))


def _wide(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, by where the zero bytes are; None if it is neither."""
    sample = head[: min(len(head), 4096) // 4 * 4]
    if not sample or b"\0" not in sample:
        return None
    zeros = [sample[at::4].count(0) * 4 / len(sample) for at in range(4)]
    if zeros[1] > 0.9 and zeros[2] > 0.9 and zeros[3] > 0.9:
        return "utf-32-le"
    if zeros[0] > 0.9 and zeros[1] > 0.9 and zeros[2] > 0.9:
        return "utf-32-be"
    if zeros[0] + zeros[2] < 0.1 and zeros[1] + zeros[3] > 0.8:
        return "utf-16-le"
    if zeros[1] + zeros[3] < 0.1 and zeros[0] + zeros[2] > 0.8:
        return "utf-16-be"
    return None


def _guess(data: bytes) -> str:
    """The most likely encoding of bytes that are not UTF-8; cp1252 if nothing fits better.

    Bytes above 0x7F that are few and stand between ASCII letters are western: statistics of characters err there.
    """
    from charset_normalizer import from_bytes

    high = re.findall(rb"[\x80-\xff]", data)
    if len(high) < 0.4 * len(data) and len(_WESTERN.findall(data)) == len(high) and _lonely(data):
        return "cp1252"
    if _TURKISH <= set(high) <= _TURKISH_ALL:
        return "cp1254"
    best = from_bytes(data, cp_isolation=_GUESSED, threshold=0.3).best()
    return best.encoding if best is not None else "cp1252"


_CASED: Final = re.compile(rb"(?=[a-z][\xc0-\xd6\xd8-\xde])")
_PAIRS: Final = re.compile(rb"[\x80-\xff]{3,}")


def _lonely(data: bytes) -> bool:
    """Whether high bytes come alone, and none that is a capital in cp1252 follows a small letter."""
    high = len(re.findall(rb"[\x80-\xff]", data))
    return len(_PAIRS.findall(data)) * 20 <= high and len(_CASED.findall(data)) * 20 <= high


# More control characters than this share are not text.
_MOST_CONTROL: Final = 0.05
_UNUSUAL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read_text(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a text file. Raises NoteError if it isn't text in the chosen or found encoding."""
    text, found = decode(source.load(), source.encoding, file=source.name)
    if len(_UNUSUAL.findall(text)) > _MOST_CONTROL * len(text):
        message = _("The file is not text: it has too many control characters. Save the document as text, PDF or DOCX.")
        raise refused(source.name, "no text", message)
    draft = Draft(source)
    note_encoding(draft, found)
    pages = text.split("\f")
    if len(pages) == 1:
        draft.add(text, PartKind.BODY)
    else:
        for number, page in enumerate(pages, 1):
            draft.add(page, PartKind.PAGE, number)
    yield draft


def note_encoding(draft: Draft, found: DetectedEncoding) -> None:
    """Keep the encoding with the note, and say if it was guessed."""
    draft.note.encoding = found.encoding
    if found.guessed:
        draft.warn(
            _(
                "The encoding {encoding} was guessed. Check letters with accents, and choose another if needed.",
                found.encoding,
            )
        )


# Clean-up rules for extracted text. Each rule can be switched off, counts its changes, and keeps the source map right.
#
# A rule finds replacements in a text; no replacement crosses the border of a part.


class CleaningRule(StrEnum):
    """Names of the rules, in the order in which they are applied."""

    MOJIBAKE = "mojibake"
    """Text decoded with a wrong encoding once: "Garc\u00c3\u00ada" becomes "Garc\u00eda" (ftfy)."""
    CONTROL = "control"
    """Control characters are removed; a form feed or vertical tab becomes a line break. Tabs and line breaks stay."""
    LIGATURES = "ligatures"
    """One character for several letters: U+FB01 becomes "fi"."""
    HYPHENATION = "hyphenation"
    """A word broken by a hyphen at the end of a line is put together; the hyphen of a compound or address stays."""
    SOFT_HYPHENS = "soft-hyphens"
    """Soft hyphens (U+00AD), which show only where a line breaks, are removed."""


ALL_RULES: Final = frozenset(CleaningRule)


class Replacement(NamedTuple):
    """`text[start:end]` becomes `new`. Offsets are code points, end-exclusive."""

    start: int
    end: int
    new: str


def cleaned(
    text: str, parts: Sequence[NotePart], rules: Collection[CleaningRule]
) -> tuple[str, list[NotePart], dict[str, int]]:
    """The text after the rules, its parts, and the number of changes for each rule that changed anything."""
    counts: dict[str, int] = {}
    found = list(parts)
    for rule in CleaningRule:
        if rule not in rules:
            continue
        borders = sorted({border for part in found for border in (part.start, part.end)})

        def inside(each: Replacement, borders: Sequence[int] = borders) -> bool:
            at = bisect_right(borders, each.start)
            return at == len(borders) or borders[at] >= each.end

        replacements = list(filter(inside, _FINDERS[rule](text)))
        if replacements:
            text, found = replaced(text, found, replacements)
            counts[rule.value] = len(replacements)
    return text, found, counts


def replaced(text: str, parts: Sequence[NotePart], replacements: Sequence[Replacement]) -> tuple[str, list[NotePart]]:
    """Apply replacements, which are in order and don't overlap. A part that becomes empty is dropped."""
    pieces: list[str] = []
    ends: list[int] = []
    shifts = [0]
    at = 0
    for start, end, new in replacements:
        pieces += (text[at:start], new)
        at = end
        ends.append(end)
        shifts.append(shifts[-1] + len(new) - (end - start))
    pieces.append(text[at:])

    def moved(offset: int) -> int:
        # All replacements that end at or before an offset move it: none contains the border of a part.
        return offset + shifts[bisect_right(ends, offset)]

    kept = [NotePart(moved(part.start), moved(part.end), part.kind, part.number) for part in parts]
    return "".join(pieces), [part for part in kept if part.start < part.end]


# UTF-8 read as a one-byte encoding gives several such characters in a row; a no-break space may have become a space. C1
# control characters are cp1252 read as ISO 8859-1.
_BAD: Final = re.compile(r"[^\x00-\x7f]{2}|\u00c3 |[\x80-\x9f]")
_LINE: Final = re.compile(r"[^\n\r]+")


def _mojibake(text: str) -> Iterator[Replacement]:
    if not _BAD.search(text):
        return
    import ftfy

    config = ftfy.TextFixerConfig(unescape_html=False, explain=False)
    for line in _LINE.finditer(text):
        old = line.group()
        if not _BAD.search(old):
            continue
        new = ftfy.fix_encoding(old, config)
        if new != old:
            head = _common(old, new)
            tail = _common(old[head:][::-1], new[head:][::-1])
            yield Replacement(line.start() + head, line.end() - tail, new[head : len(new) - tail])


def _common(one: str, other: str) -> int:
    """The length of the longest common beginning."""
    for at, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            return at
    return min(len(one), len(other))


Finder = Callable[[str], Iterable[Replacement]]
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_LIGATURES: Final = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"} | {
    "\ufb05": "st",
    "\ufb06": "st",
}


def _each(pattern: re.Pattern[str], new: Callable[[str], str]) -> Finder:
    """The finder of a rule that replaces each character of a kind."""
    return lambda text: (Replacement(*match.span(), new(match[0])) for match in pattern.finditer(text))


_LETTER: Final = r"[^\W\d_]"
# U+00AD and U+2010 break words like a hyphen does. The word may go on in lower case only: "Jean-\nPaul" stays.
_BREAK: Final = re.compile(rf"([-\u2010\u00ad])[ \t]*\r?\n[ \t]*({_LETTER}+)")
_BEFORE: Final = re.compile(rf"{_LETTER}+\Z")
# The longest part of a word before its hyphen, in characters. Words are looked for at their beginning only: else a long
# one would be searched once for each of its letters.
_LONGEST: Final = 60
# In addresses of mail and of pages, hyphens belong to the name.
_ADDRESS: Final = re.compile(r"@|://|www\.|\w\.[a-z0-9]")
_COMPOUND: Final = re.compile(rf"(?<!{_LETTER}){_LETTER}+-{_LETTER}+")


def _hyphenation(text: str) -> Iterator[Replacement]:
    compounds: set[str] | None = None
    for match in _BREAK.finditer(text):
        hyphen, after = match.groups()
        before = _BEFORE.search(text[max(0, match.start() - _LONGEST) : match.start()])
        if before is None or not after[0].islower() or (len(before.group()) < 2 and hyphen != "\u00ad"):
            continue
        if hyphen != "\u00ad":
            # The word elsewhere in the text tells a compound ("follow-up") from a broken word.
            if compounds is None:
                compounds = {word.lower() for word in _COMPOUND.findall(text)}
            address = text[max(0, match.start() - _LONGEST) : match.start()].split()[-1]
            address += f" {text[match.start(2) : match.start(2) + _LONGEST].split()[0]}"
            if f"{before.group()}-{after}".lower() in compounds or _ADDRESS.search(address):
                yield Replacement(match.end(1), match.start(2), "")
                continue
        yield Replacement(match.start(1), match.start(2), "")


_FINDERS: Final[dict[CleaningRule, Finder]] = {
    CleaningRule.MOJIBAKE: _mojibake,
    CleaningRule.CONTROL: _each(_CONTROL, lambda found: "\n" if found in "\x0b\x0c" else ""),
    CleaningRule.LIGATURES: _each(re.compile(f"[{''.join(_LIGATURES)}]"), _LIGATURES.__getitem__),
    CleaningRule.HYPHENATION: _hyphenation,
    CleaningRule.SOFT_HYPHENS: _each(re.compile("\u00ad"), lambda _: ""),
}
