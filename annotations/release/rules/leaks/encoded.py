"""Texts with signs that stand for other characters: `P&eacute;rez`, `P%C3%A9rez`, `P=E9rez`, `P\\u00e9rez`, `PÃ©rez`.

So do spaces, hyphens, letters and digits that only look otherwise than those of a keyboard. Markup is left out, as in
`P<b>érez</b>`, and so are invisible characters. Base64 is not read. Offsets are code points, end-exclusive.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from annotations.text.search import DROPPED, FoldableText
from annotations.text.spans import Bounds

# The characters as which the bytes 0x80 to 0xbf are read in Windows-1252.
_CONTINUING: Final = "".join(bytes([code]).decode("cp1252", "replace") for code in range(0x80, 0xC0)).replace(
    "\ufffd", ""
)
_UNREADABLE: Final = "?\ufffd¡¢£¤‚"
"""What stands for a letter with an accent that was lost, or that DOS wrote: Mart?nez, Garc¡a."""
_LINES: Final = {**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"), "\u2044": "/", "\u2215": "/"}
# Spaces, digits of other scripts, and compatibility forms: 14 March with a no-break space, ０３／１４, ٠٣.
_FORMS: Final = (
    f"{DROPPED}{''.join(_LINES)}\u00a0\u2000-\u200a\u202f\u205f\u3000\u0660-\u0669\u06f0-\u06f9\u0966-\u096f"
    "\u2460-\u24ff\ufe58\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff"
)
# It begins with a character class, so that a text without such signs takes a tenth of the time.
_ENCODED: Final = re.compile(
    rf"[&%=\\<?\ufffd¡¢£¤‚\u00c2-\u00df{_FORMS}](?:(?<=[{_FORMS}])"
    r"|(?<=&)(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
    r"|(?<=%)[2-7c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){0,3}"
    r"|(?<==)[C-F][0-9A-F](?:=[89AB][0-9A-F]){0,3}"
    r"|(?<=\\)u[0-9a-fA-F]{4}"
    r"|(?<=<)/?[A-Za-z][^<>]{0,100}>"
    r"|(?<=[^\W\d_][?\ufffd¡¢£¤‚])(?=[^\W\d_])"
    rf"|(?<=[\u00c2-\u00df])[\u0080-\u00bf{re.escape(_CONTINUING)}])"
)
_LEFT_OUT: Final = re.compile(f"[{DROPPED}]")


def is_encoded(text: str) -> bool:
    """Whether the text has such a sign."""
    return _ENCODED.search(text) is not None


class DecodedText(FoldableText):
    """A text that is read without these signs, with a map to the text as it is written. `plain`: before folding."""

    def __init__(self, text: str) -> None:
        pieces = list(_pieces(text))
        self.plain = "".join(plain for _written, plain in pieces)
        self._read = FoldableText(self.plain)
        self.original, self.text = text, self._read.text
        self._from = [0, *accumulate(len(plain) for _written, plain in pieces)]
        self._to = [0, *accumulate(len(written) for written, _plain in pieces)]

    def original_bounds(self, start: int, end: int) -> Bounds:
        return self.written_bounds(*self._read.original_bounds(start, end))

    def written_bounds(self, start: int, end: int) -> Bounds:
        """The bounds in the original of a stretch of `plain` that isn't empty."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> Bounds:
        """The bounds of what is written for a character."""
        piece = bisect_right(self._from, at) - 1
        start, end = self._to[piece], self._to[piece + 1]
        if end - start == self._from[piece + 1] - self._from[piece]:
            start += at - self._from[piece]
            end = start + 1
        return start, end


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Pieces of the text, as they are written and as they are read."""
    done = 0
    for found in _ENCODED.finditer(text):
        yield text[done : found.start()], text[done : found.start()]
        yield found[0], "".join(map(_form, _decoded(found[0])))
        done = found.end()
    yield text[done:], text[done:]


def _decoded(sign: str) -> str:
    if sign[0] == "&":
        return html.unescape(sign)
    if sign[0] == "<":
        return ""
    if sign[0] == "\\":
        return chr(int(sign[2:], 16))
    if sign[0] in _UNREADABLE:
        return "x"  # one wrong letter in a name
    if len(sign) == 1:
        return sign
    if sign[0] in "%=":
        return _of_bytes(bytes.fromhex(sign.replace(sign[0], "")))
    return _of_bytes(b"".join(each.encode("cp1252", "ignore") or each.encode("latin-1") for each in sign))


def _form(sign: str) -> str:
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    return "" if _LEFT_OUT.match(sign) else _LINES.get(sign) or unicodedata.normalize("NFKC", sign)


def _of_bytes(read: bytes) -> str:
    try:
        return read.decode()
    except UnicodeDecodeError:
        return read.decode("latin-1")
