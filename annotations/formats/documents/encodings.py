"""The encoding of a text: a byte order mark, what a person or the document says, or what the bytes look like."""

import codecs
import io
import re
from typing import IO, Final, NamedTuple

from annotations.formats.documents.base import refused

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
_GUESSED: Final = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "koi8_r",
    "mac_roman",
    "cp437",
    "cp850",
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
]
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
            raise refused(
                file, "encoding", f"The encoding “{chosen}” is unknown. Choose one such as utf-8, cp1252 or utf-16."
            )
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


def is_utf8(head: bytes) -> bool:
    """Whether bytes are UTF-8; the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
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
    return refused(
        file,
        "encoding",
        f"The text is not {encoding}: the byte {byte} at offset {error.start} is not valid. Choose another encoding.",
    )


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
