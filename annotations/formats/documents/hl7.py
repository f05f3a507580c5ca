"""HL7 v2 messages (HL7 v2.5.1, chapters 2 and 7): the text of OBX segments, and comments (NTE) on anything.

Each patient of a message is a note. A file may hold many messages, alone, in a batch (FHS, BHS) or framed for MLLP. A
line that doesn't begin with the name of a segment belongs to the value before it: many systems write line feeds there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, Result, count, refused, stem
from annotations.formats.documents.encodings import HEAD, decode
from annotations.formats.documents.text import note_encoding

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
# Segments about messages, patients, visits and orders, which are left out without a warning.
_RECORDS: Final = re.compile(
    "ARV|BHS|BTS|CON|CTI|DSC|EVN|FHS|FTS|MRG|MSA|NK1|OBR|ORC|PD1|PID|PV1|PV2|ROL|SFT|SPM|TQ1|TQ2|TXA|UAC"
)


def looks_like_hl7(head: bytes) -> bool:
    """Whether a file begins with a message or a batch of messages."""
    return re.match(rb"(?:\xef\xbb\xbf)?[\x0b\s]*(?:MSH|FHS|BHS)[^\w\s]", head) is not None


def read(source: DocumentSource) -> Iterator[Draft | Result]:
    """A note for each message with text. Messages without text are problems, named by their line."""
    data = source.load()
    stated = re.search(rb"^[\x0b\s]*MSH(.)(?:(?!\1)[^\r\n]){4,5}(?:\1[^\r\n]*?){15}\1([^\r\n|~^]*)", data[:HEAD])
    charset = stated.group(2).decode("ascii", "replace").strip() if stated else ""
    text, found = decode(data, source.encoding, _CHARSETS.get(charset, charset) or None, file=source.name)
    notes = list(_notes(text.translate(_FRAME)))
    if not notes:
        raise refused(source.name, "no message", "The file has no HL7 message: no line begins with MSH.")
    for number, (line, header, segments) in enumerate(notes, 1):
        name = stem(source.name) if len(notes) == 1 else f"{stem(source.name)}-{number:05d}"
        draft = Draft(source, name)
        note_encoding(draft, found)
        try:
            _read_segments(draft, header, segments)
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


_Lines = list[str]


def _notes(text: str) -> Iterator[tuple[int, str, list[_Lines]]]:
    """For each patient of each message: the first line (1-based), the MSH, and the lines of the other segments."""
    segments: list[_Lines] = []
    header, start, separator, patient = "", 0, "|", ""
    for line, row in enumerate(_BREAK.split(text), 1):
        if re.match(r"(?:MSH|FHS|BHS)[^\w\s.,:;()/-]", row):
            separator = row[3]
            if row.startswith("MSH"):
                if header:
                    yield start, header, segments
                    segments = []
                header, start, patient = row, line, ""
                continue
        if _RECORDS.fullmatch(row) or re.match(rf"[A-Z][A-Z0-9]{{2}}{re.escape(separator)}", row):
            if row.startswith("PID"):
                # The names and numbers of a patient: a message may give results of several.
                other = "|".join(row.split(separator)[2:6])
                if patient and other != patient:
                    yield start, header, segments
                    segments, start = [], line
                patient = other
            segments.append([row])
        elif segments:
            segments[-1].append(row)
        elif row.strip():
            segments.append(["", row])
    if header:
        yield start, header, segments


def _read_segments(draft: Draft, header: str, segments: Iterable[_Lines]) -> None:
    if len(header) < 8:
        raise ValueError("The segment MSH is too short: it must name the separators, as in “MSH|^~\\&|”.")
    field = header[3]
    stated = header[4:].split(field)[0]
    component, repetition, escape, subcomponent = list(stated + "^~\\&"[len(stated) :])[:4]
    special = {"F": field, "S": component, "R": repetition, "E": escape, "T": subcomponent}
    comments = number = stray = cut = 0
    left, others = Counter[str](), Counter[str]()
    lines: list[str] = []
    kind, start = PartKind.OBX, 0

    def close() -> None:
        if lines:
            draft.add("\n".join(lines), kind, start)
            lines.clear()

    group: object = None
    for rows in segments:
        name = rows[0][:3]
        fields, rest = _fields(rows, field, {"OBX": 5, "NTE": 3}.get(name))
        given = fields[5] if name == "OBX" else fields[3] if name == "NTE" else ""
        if name == "OBX":
            number += 1
            value_type = fields[2].strip()
            if value_type not in TEXTS:
                if given:
                    left[value_type or "none"] += 1
                stray += sum(map(bool, map(str.strip, rest)))
                if group in (None, "NTE"):
                    close()
                    group = name
                continue
            # Text has neither units nor a range: a bar in it was not escaped.
            cut += value_type != "ST" and any(map(str.strip, fields[6:8]))
            # A report comes as one segment for each line, all with the same identifier.
            if (name, fields[3]) != group:
                close()
                kind, start, group = PartKind.OBX, number, (name, fields[3])
        elif name == "NTE":
            comments += 1
            if group is None:
                close()
                kind, start, group = PartKind.NTE, comments, name
            elif not lines and group != name:
                kind, start = PartKind.OBX, number
        else:
            group = None
            stray += sum(map(bool, map(str.strip, rest)))
            if name == "PID" and not draft.patient_id:
                draft.patient_id = (fields[3:] or [""])[0].split(repetition)[0].split(component)[0].strip()
            elif name and not _RECORDS.fullmatch(name):
                others[name] += 1
            continue
        if given or name == "OBX":
            lines += [_plain(each, special) for each in given.split(repetition)]
        if more := "\n".join(rest).strip("\n"):
            lines.append(_plain(more, special))
    close()
    if left:
        total = sum(left.values())
        draft.warn(
            f"{count(total, 'OBX value', 'OBX values')} without text (types {', '.join(sorted(left))}) left out."
        )
    if others:
        total = sum(others.values())
        draft.warn(f"{count(total, 'segment', 'segments')} of other kinds ({', '.join(sorted(others))}) left out.")
    if cut:
        values = count(cut, "OBX value seems", "OBX values seem")
        draft.warn(f"{values} to go on after a field separator in the text. What follows it was left out.")
    if stray:
        draft.warn(f"{count(stray, 'line', 'lines')} after segments without text left out. Check the file.")


def _fields(rows: _Lines, field: str, text: int | None) -> tuple[list[str], list[str]]:
    """The fields of a segment, of which that with its text may go on over several lines, and the lines after it.

    `text` is the number of that field, which is added if it is missing; None if no field goes on.
    """
    fields = rows[0].split(field)
    end = 1
    if text is not None and len(fields) == text + 1:
        values = [fields.pop()]
        more: list[str] = []
        while end < len(rows) and not more:
            value, *more = rows[end].split(field)
            values.append(value)
            end += 1
        fields += ["\n".join(values), *more]
    return fields + [""] * ((text or 0) + 1 - len(fields)), rows[end:]


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
