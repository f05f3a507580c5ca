"""FHIR DocumentReference (HL7 FHIR R4): the documents attached as base64, in the first form that can be read.

A file is one resource, a Bundle, or one resource a line (NDJSON). Nothing is fetched: an attachment that is only an
address is read if the Bundle holds it as a Binary resource.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from annotations.formats.documents.base import DocumentSource, Draft, Extracted, Result, refused, stem
from annotations.formats.documents.encodings import decode, python_name
from annotations.formats.notes import NoteError

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


def read(source: DocumentSource) -> Iterator[Draft | Result]:
    """A note for each DocumentReference of a file."""
    found = list(_resources(source))
    binaries: dict[str, Resource] = {}
    for _line, each, address in found:
        if each.get("resourceType") == "Binary":
            binaries |= {f"Binary/{each.get('id')}": each, address: each}
    references = [(line, each) for line, each, _url in found if each.get("resourceType") == "DocumentReference"]
    if not references:
        raise refused(
            source.name,
            "no document",
            "The file has no FHIR DocumentReference. Export the resources DocumentReference with their attachments.",
        )
    for number, (line, resource) in enumerate(references, 1):
        name = stem(source.name) if len(references) == 1 else f"{stem(source.name)}-{number:05d}"
        yield from _read_reference(source, name, line, resource, binaries)


def _resources(source: DocumentSource) -> Iterator[tuple[int | None, Resource, str]]:
    """Each resource with its line in NDJSON, and its address in a Bundle (`fullUrl`), by which others refer to it."""
    text, _found = decode(source.load(), source.encoding, "utf-8", file=source.name)
    try:
        whole = json.loads(text)
    except RecursionError:
        raise refused(source.name, "nesting", "The JSON is nested too deeply for a FHIR resource.") from None
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            at = getattr(error, "lineno", None)
            raise refused(source.name, "json", "The file is no JSON. Export the resource again.", at) from None
        for number, line in lines:
            try:
                yield number, _resource(json.loads(line)), ""
            except (ValueError, RecursionError):
                message = "The line is no JSON. The file must be one JSON value, or one resource a line."
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
) -> Iterator[Result]:
    contents = (each.get("attachment") for each in _dicts(resource, "content"))
    attachments = [each for each in contents if isinstance(each, dict)]
    attachments.sort(key=lambda each: _PREFERRED.get(_media_type(each)[0], len(_PREFERRED)))
    where = f"The DocumentReference “{resource.get('id') or name}”"
    refusals: list[str] = []
    for attachment in attachments:
        data = _data(attachment, binaries)
        media, charset = _media_type(attachment)
        if isinstance(data, str):
            refusals.append(data)
            continue
        if media and media not in _ENDINGS:
            refusals.append(f"Attachments of the type “{media}” can't be read.")
            continue
        results = list(source.inner(f"{name}.{_ENDINGS.get(media, 'txt')}", data, source.encoding or charset))
        notes = [each for each in results if isinstance(each, Extracted)]
        if len(notes) == 1:
            subject = _resource(resource.get("subject")).get("reference")
            patient = subject.rsplit("/", 1)[-1] if isinstance(subject, str) else ""
            others = len(attachments) - 1
            left = (f"Of {others + 1} forms of this document, {notes[0].kind} was read.",) if others else ()
            yield replace(notes[0], name=name, patient_id=patient, warnings=(*notes[0].warnings, *left))
            return
        refusals += [each.problems[0].message for each in results if isinstance(each, NoteError)]
    reasons = " ".join(dict.fromkeys(refusals)) or "It has no attachment."
    yield refused(source.name, "attachment", f"{where} can't be read. {reasons}", line)


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
            "Its attachment is an address, and nothing is fetched. Export it with the data."
            if url
            else "It has no data."
        )
    try:
        return base64.b64decode("".join(str(data).split()), validate=True)
    except (binascii.Error, ValueError):
        return "The data of its attachment is not base64."
