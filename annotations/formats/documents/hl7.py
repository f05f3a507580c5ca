"""HL7 v2 messages (HL7 v2.5.1, chapters 2 and 7): the text of OBX segments, and comments (NTE) on anything.

Each patient of a message is a note. A file may hold many messages, alone, in a batch (FHS, BHS) or framed for MLLP. A
line that doesn't begin with the name of a segment belongs to the value before it: many systems write line feeds there.
"""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from annotations.formats.documents import base
from annotations.formats.documents.base import DocumentSource, Draft, PartKind, refused
from annotations.formats.documents.texts import HEAD, decode, note_encoding, python_name
from annotations.formats.notes import NoteError, ParsedNote, Problem
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

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


def read_hl7(source: DocumentSource) -> Iterator[Draft | base.Result]:
    """A note for each message with text. Messages without text are problems, named by their line."""
    data = source.load()
    stated = re.search(rb"^[\x0b\s]*MSH(.)(?:(?!\1)[^\r\n]){4,5}(?:\1[^\r\n]*?){15}\1([^\r\n|~^]*)", data[:HEAD])
    charset = stated.group(2).decode("ascii", "replace").strip() if stated else ""
    text, found = decode(data, source.encoding, _CHARSETS.get(charset, charset) or None, file=source.name)
    notes = list(_notes(text.translate(_FRAME)))
    if not notes:
        raise refused(source.name, "no message", _("The file has no HL7 message: no line begins with MSH."))
    for number, (line, header, segments) in enumerate(notes, 1):
        draft = Draft(source, base.numbered(source.name, number, len(notes)))
        note_encoding(draft, found)
        try:
            _read_segments(draft, header, segments)
        except ValueError as error:
            yield refused(source.name, "hl7", str(error), line)
            continue
        if draft.note.parts:
            yield draft
        else:
            message = _("The message has no text: no OBX segment has the type TX, FT or ST and a value. Leave it out.")
            yield refused(source.name, "no text", message, line)


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
        raise ValueError(_("The segment MSH is too short: it must name the separators, as in “MSH|^~\\&|”."))
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
            if name == "PID" and not draft.note.patient_id:
                draft.note.patient_id = (fields[3:] or [""])[0].split(repetition)[0].split(component)[0].strip()
            elif name and not _RECORDS.fullmatch(name):
                others[name] += 1
            continue
        if given or name == "OBX":
            lines += [_plain(each, special) for each in given.split(repetition)]
        if more := "\n".join(rest).strip("\n"):
            lines.append(_plain(more, special))
    close()
    for counted, one, many, sentence in (
        (left, _("OBX value"), _("OBX values"), gettext_noop("{count} without text (types {types}) left out.")),
        (others, _("segment"), _("segments"), gettext_noop("{count} of other kinds ({kinds}) left out.")),
    ):
        if counted:
            draft.warn(_(sentence, base.count(counted.total(), one, many), ", ".join(sorted(counted))))
    if cut:
        values = base.count(cut, _("OBX value seems"), _("OBX values seem"))
        draft.warn(_("{values} to go on after a field separator in the text. What follows it was left out.", values))
    if stray:
        draft.warn(
            _("{count} after segments without text left out. Check the file.", base.count(stray, _("line"), _("lines")))
        )


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


# FHIR DocumentReference (HL7 FHIR R4): the documents attached as base64, in the first form that can be read.
#
# A file is one resource, a Bundle, or one resource a line (NDJSON). URLs are never fetched: an attachment that is only
# a URL is read if the Bundle has it as a Binary resource.


# Endings by media type, in the order in which the forms of one document are preferred.
_ENDINGS: Final = {
    "text/plain": "txt",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/rtf": "rtf",
    "application/rtf": "rtf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "message/rfc822": "eml",
}
_PREFERRED: Final = {kind: at for at, kind in enumerate(_ENDINGS)}

Resource = Mapping[str, Any]


def read_fhir(source: DocumentSource) -> Iterator[Draft | base.Result]:
    """A note for each DocumentReference of a file."""
    found = list(_resources(source))
    binaries: dict[str, Resource] = {}
    for _line, each, address in found:
        if each.get("resourceType") == "Binary":
            binaries |= {f"Binary/{each.get('id')}": each, address: each}
    references = [(line, each) for line, each, _url in found if each.get("resourceType") == "DocumentReference"]
    if not references:
        message = _(
            "The file has no FHIR DocumentReference. Export the resources DocumentReference with their attachments."
        )
        raise refused(source.name, "no document", message)
    for number, (line, resource) in enumerate(references, 1):
        name = base.numbered(source.name, number, len(references))
        yield from _read_reference(source, name, line, resource, binaries)


def _resources(source: DocumentSource) -> Iterator[tuple[int | None, Resource, str]]:
    """Each resource with its line in NDJSON, and its address in a Bundle (`fullUrl`), by which others refer to it."""
    text, _found = decode(source.load(), source.encoding, "utf-8", file=source.name)
    try:
        whole = json.loads(text)
    except RecursionError:
        raise refused(source.name, "nesting", _("The JSON is nested too deeply for a FHIR resource.")) from None
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            at = getattr(error, "lineno", None)
            raise refused(
                source.name, "json", _("The file is not valid JSON. Export the resource again."), at
            ) from None
        for number, line in lines:
            try:
                yield number, _resource(json.loads(line)), ""
            except (ValueError, RecursionError):
                message = _("The line is not valid JSON. The file must be one JSON value, or one resource a line.")
                raise refused(source.name, "json", message, number) from None
        return
    resource = _resource(whole)
    if resource.get("resourceType") == "Bundle":
        for entry in _dicts(resource, "entry"):
            yield None, _resource(entry.get("resource")), str(entry.get("fullUrl") or "")
    else:
        yield None, resource, ""


def _resource(value: Any) -> Resource:
    return value if isinstance(value, dict) else {}


def _dicts(value: Resource, key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _read_reference(
    source: DocumentSource, name: str, line: int | None, resource: Resource, binaries: Mapping[str, Resource]
) -> Iterator[base.Result]:
    contents = (each.get("attachment") for each in _dicts(resource, "content"))
    attachments = [each for each in contents if isinstance(each, dict)]
    attachments.sort(key=lambda each: _PREFERRED.get(_media_type(each)[0], len(_PREFERRED)))
    id = resource.get("id") or name
    refusals: list[str] = []
    for attachment in attachments:
        data = _data(attachment, binaries)
        media, charset = _media_type(attachment)
        if isinstance(data, str):
            refusals.append(data)
            continue
        if media and media not in _ENDINGS:
            refusals.append(_("Attachments of the type “{media}” can't be read.", media))
            continue
        results = list(source.inner(f"{name}.{_ENDINGS.get(media, 'txt')}", data, source.encoding or charset))
        notes = [each for each in results if isinstance(each, ParsedNote)]
        if len(notes) == 1:
            (note,) = notes
            subject = _resource(resource.get("subject")).get("reference")
            note.name, note.patient_id = name, subject.rsplit("/", 1)[-1] if isinstance(subject, str) else ""
            if len(attachments) > 1:
                left = _("The document has {count} forms. The {kind} form was read.", len(attachments), note.kind)
                note.warnings.append(Problem("", None, "document", left))
            yield note
            return
        refusals += [each.problems[0].message for each in results if isinstance(each, NoteError)]
    reasons = " ".join(dict.fromkeys(refusals)) or _("It has no attachment.")
    yield refused(source.name, "attachment", _("The DocumentReference “{id}” can't be read. {why}", id, reasons), line)


def _media_type(attachment: Resource) -> tuple[str, str | None]:
    """The media type of an attachment, and its character set if it states one that exists."""
    kind, *parameters = str(attachment.get("contentType") or "").lower().split(";")
    pairs = dict(each.strip().partition("=")[::2] for each in parameters)
    charset = pairs.get("charset", "").strip("\"' ")
    return kind.strip(), charset if charset and python_name(charset) else None


def _data(attachment: Resource, binaries: Mapping[str, Resource]) -> bytes | str:
    """The bytes of an attachment, or the sentence that says why there are none."""
    data = attachment.get("data")
    url = str(attachment.get("url") or "")
    if data is None and url:
        # An address may name a version: “Binary/b9/_history/2”.
        url = url.partition("/_history/")[0]
        data = binaries.get(url, binaries.get("/".join(url.rsplit("/", 2)[-2:]), {})).get("data")
    if data is None:
        return (
            _("Its attachment is only a URL, which is never fetched. Export it with the data.")
            if url
            else _("It has no data.")
        )
    try:
        return base64.b64decode("".join(str(data).split()), validate=True)
    except (binascii.Error, ValueError):
        return _("The data of its attachment is not base64.")
