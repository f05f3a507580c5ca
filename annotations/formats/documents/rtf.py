"""RTF (Rich Text Format specification 1.9.1): headers, body, text boxes, notes, footers. Objects are ignored.

A paragraph is a line; the cells of a table's row are divided by tabs. Deleted text (tracked changes), field codes,
comments and pictures are not read.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from annotations.formats.documents.base import PICTURES, DocumentSource, Draft, PartKind, refused
from annotations.formats.documents.texts import python_name
from annotations.text.wording import gettext as _

_TOKEN: Final = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n\x00]+|([^\\{}\r\n\x00]+)",
    re.DOTALL,
)
_DEEPEST: Final = 500
_CHARACTERS: Final = (
    dict.fromkeys(("par", "line", "sect", "page", "softline"), "\n")
    | {"tab": "\t", "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018", "rquote": "\u2019"}
    | {"ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022"}
    | {"emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005"}
)
_SIGNS: Final = {"~": "\u00a0", "-": "\u00ad", "_": "\u2011", "\\": "\\", "{": "{", "}": "}", "\n": "\n", "\r": "\n"}
_ORDER: Final = (
    *(PartKind.HEADER, PartKind.BODY, PartKind.TEXT_BOX),
    *(PartKind.FOOTNOTE, PartKind.ENDNOTE, PartKind.FOOTER),
)
_DESTINATIONS: Final = (
    dict.fromkeys(("header", "headerl", "headerr", "headerf"), PartKind.HEADER)
    | dict.fromkeys(("footer", "footerl", "footerr", "footerf"), PartKind.FOOTER)
    | {"footnote": PartKind.FOOTNOTE, "shptxt": PartKind.TEXT_BOX}
)
# Destinations with text of the document although they are marked as to be skipped by older programs.
_KNOWN: Final = frozenset({"shpinst", "shptxt", "ud"})
_SKIPPED_NAMES: Final = (
    "fonttbl colortbl stylesheet info pict object objdata fldinst filetbl listtable listoverridetable revtbl rsidtbl "
    "generator themedata colorschememapping datastore latentstyles xmlnstbl pgptbl sp nonshppict shprslt annotation "
    "atnid atnauthor atndate atnref atrfstart atrfend atntime comment bkmkstart bkmkend listtext pntext template "
    "xe tc tcn ftnsep ftnsepc aftnsep aftnsepc background do"
)
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
# Character sets of fonts (\fcharset) with their code page.
_CHARSETS: Final = (
    {0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254"}
    | {163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"}
    | {254: "cp437", 255: "cp850"}
)


def read_rtf(source: DocumentSource) -> Iterator[Draft]:
    """The one note of an RTF document."""
    data = source.load()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise refused(
            source.name, "damaged", _("The file is not RTF: it must begin with “{\\rtf”. Save it again as RTF.")
        )
    parser = _Parser(source)
    parser.parse(data)
    draft = Draft(source)
    seen: set[str] = set()
    for wanted in _ORDER:
        number = 0
        for pieces in parser.parts(wanted):
            text = "".join(pieces).strip("\n\t ")
            once = wanted in (PartKind.HEADER, PartKind.FOOTER)
            if not text or (once and text in seen):
                continue
            if once:
                seen.add(text)
            number += 1
            draft.add(text, wanted, number if wanted not in (PartKind.BODY, PartKind.HEADER, PartKind.FOOTER) else 0)
    if parser.pictures:
        draft.warn(_(PICTURES))
    if parser.objects:
        draft.warn(_("Documents embedded in the document were not read."))
    if parser.depth:
        draft.warn(_("The end of the document is missing: not all groups are closed."))
    yield draft.with_text()


@dataclass(frozen=True, slots=True)
class _State:
    """What holds in a group. `part` is where its text goes, an index; -1 if it is dropped."""

    part: int = 0
    encoding: str = "cp1252"
    skip: int = 1
    """How many characters follow \\u for programs that don't know it."""
    deleted: bool = False
    fonts: bool = False


class _Parser:
    """Reads tokens one after another, with a stack of states instead of recursion."""

    def __init__(self, source: DocumentSource) -> None:
        self._source = source
        self._parts: list[tuple[PartKind, list[str]]] = [(PartKind.BODY, [])]
        self._stack: list[_State] = []
        self._state = _State()
        self._bytes = bytearray()
        self._to_skip = 0
        self._starred = False
        self._high = 0
        self._encodings: dict[int, str] = {}
        self._font = 0
        self._default = "cp1252"
        self.pictures = self.objects = 0

    @property
    def depth(self) -> int:
        """The number of groups that are open."""
        return len(self._stack)

    def parts(self, kind: PartKind) -> Iterator[list[str]]:
        """The pieces of text of each part of a kind."""
        return (pieces for found, pieces in self._parts if found is kind)

    def parse(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            match = _TOKEN.match(data, at)
            if match is None:  # a backslash at the end
                break
            at = match.end()
            word, number, byte, sign, brace, raw = match.groups()
            if raw is not None:
                self._add_bytes(raw)
            elif byte is not None:
                self._add_bytes(bytes.fromhex(byte.decode()))
            elif brace == b"{":
                self._open()
            elif brace == b"}":
                self._close()
            elif sign == b"*":
                self._starred = True
            elif sign is not None:
                self._add(_SIGNS.get(sign.decode("latin-1"), ""), counted=True)
            elif word is not None:
                value = int(number) if number is not None else None
                if word == b"bin":
                    at += max(0, value or 0)
                else:
                    self._word(word.decode(), value)
        self._flush()

    def _open(self) -> None:
        self._flush()
        if len(self._stack) >= _DEEPEST:
            message = _("The document has more than {most} nested groups. Save it again in a word processor.", _DEEPEST)
            raise refused(self._source.name, "nesting", message)
        self._stack.append(self._state)
        self._starred = False
        self._to_skip = 0

    def _close(self) -> None:
        self._flush()
        if self._stack:
            self._state = self._stack.pop()
        self._starred = False
        self._to_skip = 0

    def _word(self, word: str, value: int | None) -> None:
        starred, self._starred = self._starred, False
        if word == "u":
            self._unicode(value or 0)
            return
        if word in _CHARACTERS:
            self._add(_CHARACTERS[word], counted=True)
            return
        self._flush()
        if word in ("cell", "nestcell"):
            self._add("\t")
        elif word in ("row", "nestrow"):
            pieces = self._parts[self._state.part][1]
            if self._state.part >= 0 and pieces and pieces[-1] == "\t":
                pieces.pop()
            self._add("\n")
        elif word == "uc":
            self._state = replace(self._state, skip=max(0, min(value or 0, 16)))
        elif word == "deleted":
            self._state = replace(self._state, deleted=value != 0)
        elif word == "plain":
            self._state = replace(self._state, deleted=False)
        elif word in ("ansi", "mac", "pc", "pca", "ansicpg"):
            self._code_page(word, value)
        elif word == "f":
            self._font = value or 0
            self._state = replace(self._state, encoding=self._encodings.get(self._font, self._default))
        elif word == "fcharset" and self._state.fonts:
            self._encodings[self._font] = _CHARSETS.get(value or 0, self._default) if value else self._default
        elif word == "ftnalt" and self._state.part > 0 and self._parts[self._state.part][0] is PartKind.FOOTNOTE:
            self._parts[self._state.part] = (PartKind.ENDNOTE, self._parts[self._state.part][1])
        else:
            self._destination(word, starred)

    def _destination(self, word: str, starred: bool) -> None:
        self.pictures += word == "pict"
        self.objects += word == "objdata"
        if self._state.part < 0:
            return
        if kind := _DESTINATIONS.get(word):
            self._parts.append((kind, []))
            self._state = replace(self._state, part=len(self._parts) - 1)
        elif (word in _SKIPPED and word != "object") or (starred and word not in _KNOWN):
            self._state = replace(self._state, part=-1, fonts=word == "fonttbl")

    def _code_page(self, word: str, value: int | None) -> None:
        names = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850", "ansi": "cp1252"}
        name = names.get(word) or ("utf-8" if value == 65001 else python_name(f"cp{value}") or "cp1252")
        self._default = name
        self._state = replace(self._state, encoding=name)

    def _unicode(self, value: int) -> None:
        code = value % 65536
        self._flush()
        self._to_skip = self._state.skip
        if 0xD800 <= code < 0xDC00:
            self._high = code
            return
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00) if self._high else 0xFFFD
        self._high = 0
        self._add(chr(code))

    def _add_bytes(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if self._state.part >= 0 and not self._state.deleted:
            self._bytes += data[skipped:]

    def _add(self, text: str, counted: bool = False) -> None:
        """Add text. `counted` words stand for one character, which may be there for programs that don't know \\u."""
        if counted and self._to_skip:
            self._to_skip -= 1
            return
        self._flush()
        if self._state.part >= 0 and not self._state.deleted:
            self._parts[self._state.part][1].append(text)

    def _flush(self) -> None:
        """Decode the bytes that wait: characters of some code pages have two."""
        if self._bytes:
            self._parts[self._state.part][1].append(codecs.decode(bytes(self._bytes), self._state.encoding, "replace"))
            self._bytes.clear()
