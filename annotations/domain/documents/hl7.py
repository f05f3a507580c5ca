"""HL7 v2 messages (HL7 v2.5.1, chapters 2 and 7): the text of OBX segments, and comments (NTE) on them.

Each message is a note. A file may hold many messages, alone, in a batch (FHS, BHS) or framed for MLLP.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from annotations.domain.documents.base import Draft, PartKind, Result, Source, count, refused, stem
from annotations.domain.documents.encodings import HEAD, decode
from annotations.domain.documents.text import note_encoding

# Values that are text to read: text data, formatted text, string data.
TEXTS: Final = frozenset({"TX", "FT", "ST"})
# MSH-18 (HL7 table 0211) where Python has another name.
_CHARSETS: Final = {
    "UNICODE UTF-8": "utf-8",
    "UNICODE UTF-16": "utf-16",
    "UNICODE UTF-32": "utf-32",
    "ASCII": "ascii",
    "ISO IR87": "iso2022_jp",
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
    "BIG-5": "big5",
} | {f"8859/{number}": f"iso8859_{number}" for number in (*range(1, 12), 13, 14, 15)}
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_FRAME: Final = str.maketrans("", "", "\x0b\x1c")


def looks_like_hl7(head: bytes) -> bool:
    """Whether a file begins with a message or a batch of messages."""
    return re.match(rb"(?:\xef\xbb\xbf)?[\x0b\s]*(?:MSH|FHS|BHS)[^\w\s]", head) is not None


def read(source: Source) -> Iterator[Draft | Result]:
    """A note for each message with text. Messages without text are problems, named by their line."""
    data = source.load()
    stated = re.search(rb"^[\x0b\s]*MSH(.)(?:(?!\1)[^\r\n]){4,5}(?:\1[^\r\n]*?){15}\1([^\r\n|~^]*)", data[:HEAD])
    charset = stated.group(2).decode("ascii", "replace").strip() if stated else ""
    text, found = decode(data, source.encoding, _CHARSETS.get(charset, charset) or None, file=source.name)
    messages = list(_messages(text.translate(_FRAME)))
    if not messages:
        raise refused(source.name, "no message", "The file has no HL7 message: no line begins with MSH.")
    for number, (line, segments) in enumerate(messages, 1):
        name = stem(source.name) if len(messages) == 1 else f"{stem(source.name)}-{number:05d}"
        draft = Draft(source, name)
        note_encoding(draft, found)
        try:
            _read_message(draft, segments)
        except ValueError as error:
            yield refused(source.name, "hl7", str(error), line)
            continue
        if draft.parts:
            yield draft
        else:
            yield refused(
                source.name,
                "no text",
                "The message has no text: no OBX segment has the type TX, FT or ST and a value. Leave it out.",
                line,
            )


def _messages(text: str) -> Iterator[tuple[int, list[str]]]:
    """The segments of each message, with the line (1-based) of its MSH."""
    found: list[str] = []
    start = 0
    for line, segment in enumerate(_BREAK.split(text), 1):
        if segment.startswith("MSH"):
            if found:
                yield start, found
            found, start = [segment], line
        elif found and segment.strip() and segment[:3] not in ("BTS", "FTS", "BHS", "FHS"):
            found.append(segment)
    if found:
        yield start, found


def _read_message(draft: Draft, segments: list[str]) -> None:
    header = segments[0]
    if len(header) < 8:
        raise ValueError("The segment MSH is too short: it must name the separators, as in “MSH|^~\\&|”.")
    field = header[3]
    stated = header[4:].split(field)[0]
    component, repetition, escape, subcomponent = list(stated + "^~\\&"[len(stated) :])[:4]
    special = {"F": field, "S": component, "R": repetition, "E": escape, "T": subcomponent}
    number, left = 0, Counter[str]()
    lines: list[str] = []
    start = 0

    def close() -> None:
        if lines:
            draft.add("\n".join(lines), PartKind.OBX, start)
            lines.clear()

    group = None
    for segment in segments[1:]:
        fields = segment.split(field)
        if fields[0] == "PID" and not draft.patient_id:
            draft.patient_id = (fields[3] if len(fields) > 3 else "").split(repetition)[0].split(component)[0].strip()
        elif fields[0] == "OBX":
            number += 1
            kind = fields[2].strip() if len(fields) > 2 else ""
            value = fields[5] if len(fields) > 5 else ""
            if kind not in TEXTS:
                if value:
                    left[kind or "none"] += 1
                continue
            # A report comes as one segment for each line, all with the same identifier.
            key = tuple(fields[3:4])
            if key != group:
                close()
                start, group = number, key
            lines += [_plain(each, special) for each in value.split(repetition)]
        elif fields[0] == "NTE" and number and len(fields) > 3 and fields[3]:
            if not lines:
                start = number
            lines += [_plain(each, special) for each in fields[3].split(repetition)]
    close()
    if left:
        kinds = ", ".join(sorted(left))
        total = sum(left.values())
        draft.warn(f"{count(total, 'OBX value', 'OBX values')} without text (types {kinds}) left out.")


def _plain(value: str, special: dict[str, str]) -> str:
    """A value without escape sequences (HL7 v2.5.1, section 2.7)."""
    escape = special["E"]

    def meaning(match: re.Match[str]) -> str:
        code = match.group(1)
        if code in special:
            return special[code]
        if code.startswith((".br", ".sp", ".ce")):
            lines = int(code[3:]) if code[3:].strip("+").isdecimal() and len(code) < 7 else 1
            return "\n" * min(lines, 100)
        if code.startswith("X"):
            try:
                return bytes.fromhex(code[1:]).decode("utf-8")
            except ValueError:
                return "\ufffd"
        if code[:1] == "." or code in ("H", "N"):  # formatting: indents, highlighting
            return ""
        return match.group()

    mark = re.escape(escape)
    return re.sub(rf"{mark}([^{mark}\r\n]{{0,200}}?){mark}", meaning, value).rstrip()
