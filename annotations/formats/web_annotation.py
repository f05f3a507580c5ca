"""W3C Web Annotation (JSON-LD): an AnnotationCollection per note, one in each line.

Source: https://www.w3.org/TR/annotation-model/ (2017). A span is an annotation with a tag as its body, and a target
with a TextPositionSelector and a TextQuoteSelector. Attributes are bodies of the type schema:PropertyValue. The text of
a note is in the collection, as a node in `@included` (https://www.w3.org/TR/json-ld11/#included-nodes). In files of
other programs it may also be the `value` of a source, or stand in a text file that the source names.

Offsets count code points: "The selection of the text MUST be in terms of unicode code points" (section 4.2.4, to which
4.2.5 refers). Some programs count UTF-16 code units instead: a note whose quotes fit only these is read so.

Arrays and lines of single annotations are read, too; their order is free, so they are held in memory until the end of
the file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from annotations.formats import base, json_notes
from annotations.formats.json_notes import JsonFile, Record
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, decode_utf8, outcome
from annotations.formats.span_rules import SpanTaker, given_spans
from annotations.text.characters import Utf16
from annotations.text.spans import Span
from annotations.text.wording import gettext as _

_CONTEXT: Final = "http://www.w3.org/ns/anno.jsonld"
_PROPERTY: Final = "schema:PropertyValue"
_AROUND: Final = 32
_TAGS: Final = frozenset({"tagging", "classifying", "identifying"})
_CHARACTERS: Final = re.compile(r"char=([0-9]{1,9}),([0-9]{1,9})")


class WebAnnotationFormat(JsonFile):
    """Reads and writes Web Annotations."""

    name = "web-annotation"
    endings = ("jsonl", "jsonld", "json")
    file = "web-annotation.jsonl"
    claim = re.compile(rb"www\.w3\.org/ns/anno")

    def group(self, names: Iterable[str]) -> tuple[list[base.NoteFiles], list[Problem]]:
        """If there are text files, all files are one group."""
        found, problems = base.split_names(names, (*self.endings, "txt"))
        texts = {name: parts.pop("txt") for name, parts in sorted(found.items()) if "txt" in parts}
        groups = base.one_file_each(found)
        if not texts:
            return groups, problems
        first = groups[0] if groups else base.NoteFiles(next(iter(texts)), {})
        files = tuple(file for group in groups for file in group.bundle)
        return [base.NoteFiles(first.name, first.parts, bundle=files, texts=texts)], problems

    def read_many(
        self, note: base.NoteFiles, files: base.Files, labels: Mapping[str, str]
    ) -> Iterator[ParsedNote | NoteError]:
        """Text files without annotations come last."""
        reader = _Reader(note, files, base.LabelFinder(labels))
        for file in note.bundle:
            yield from reader.read(file)
        yield from base.loose_texts(note.texts, reader.used, files)

    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        spans, losses = given_spans(note, labels)
        source = quote(f"{note.name}.txt")
        identity = f"{source}/annotations"
        items = [
            _annotation(span, code, note.text, source) | {"id": f"{identity}/{number}"}
            for number, (span, code) in enumerate(spans, 1)
        ]
        record = {
            "@context": _CONTEXT,
            "id": identity,
            "type": "AnnotationCollection",
            "label": note.name,
            "total": len(items),
            "first": {"id": f"{identity}/page", "type": "AnnotationPage", "startIndex": 0, "items": items},
            "@included": [{"id": source, "type": "Text", "format": "text/plain", "value": note.text}],
        }
        return record, losses


def _annotation(span: Span, code: str, text: str, source: str) -> dict[str, Any]:
    bodies: list[dict[str, Any]] = [{"type": "TextualBody", "purpose": "tagging", "value": code}]
    for name, choice in span.attributes:
        bodies.append({"type": _PROPERTY, "purpose": "describing", "schema:name": name, "schema:value": choice})
    exact = {
        "type": "TextQuoteSelector",
        "exact": text[span.start : span.end],
        "prefix": text[max(0, span.start - _AROUND) : span.start],
        "suffix": text[span.end : span.end + _AROUND],
    }
    position = {"type": "TextPositionSelector", "start": span.start, "end": span.end}
    return {"type": "Annotation", "body": bodies, "target": {"source": source, "selector": [position, exact]}}


@dataclass(slots=True)
class _Source:
    """A text and its annotations. The text is None as long as it is not known; the label is that of a collection."""

    line: int
    text: str | None = None
    label: object = None
    annotations: list[tuple[int, Record, Record]] = field(default_factory=list)
    """The line, the annotation, and the one of its targets that is in this text."""


class _Reader:
    """Reads files of annotations; `used` are the names of the text files that belong to them."""

    def __init__(self, note: base.NoteFiles, files: base.Files, find_label: base.LabelFinder) -> None:
        self.used: set[str] = set()
        self._note = note
        self._files = files
        self._find_label = find_label
        self._number = 0
        self._by_base: dict[str, list[str]] = {}
        for name in note.texts:
            self._by_base.setdefault(basename(name), []).append(name)

    def read(self, file: str) -> Iterator[ParsedNote | NoteError]:
        single: dict[str, _Source] = {}
        for line, record in json_notes.opened_records(self._files, file):
            try:
                found = json_notes.object_in(record, file, line)
                if _is(found, "Annotation"):
                    _gather([found], single, file, line)
                    continue
                sources = _sources(found, file, line)
            except NoteError as error:
                yield error
                continue
            yield from self._notes(sources, file)
        yield from self._notes(single, file)

    def _notes(self, sources: dict[str, _Source], file: str) -> Iterator[ParsedNote | NoteError]:
        for identity, source in sources.items():
            self._number += 1
            yield outcome(self._parsed, identity, source, file, alone=len(sources) == 1)

    def _parsed(self, identity: str, source: _Source, file: str, *, alone: bool) -> ParsedNote:
        path = _path(identity)
        beside = None if source.text is not None else self._beside(path, file, alone=alone)
        text = self._text(source, beside, file)

        def taken(utf16: bool) -> SpanTaker:
            taker = SpanTaker(text, file, self._find_label, line=source.line, utf16=utf16)
            for line, annotation, target in source.annotations:
                _take(annotation, target, taker, line, utf16=utf16)
            return taker

        taker = json_notes.counted(text, taken)
        if beside:
            return taker.note(beside)
        named = {"name": source.label if alone else None, "filename": path}
        return taker.note(json_notes.name_in(named, base.numbered_name(self._note, self._number), taker))

    def _text(self, source: _Source, beside: str | None, file: str) -> str:
        if source.text is not None:
            return source.text
        if beside is None:
            message = _(
                "The text of the annotations is missing. Add it as a text file with the name that “source” gives, "
                "or as a “value” in the source."
            )
            raise NoteError([Problem(file, source.line, "no text", message)])
        if beside in self.used:
            message = _("The annotations of “{beside}” are in two places. Put them into one collection.", beside)
            raise NoteError([Problem(file, source.line, "same name", message)])
        self.used.add(beside)
        text_file = self._note.texts[beside]
        return decode_utf8(self._files.load(text_file), text_file)

    def _beside(self, path: str, file: str, *, alone: bool) -> str | None:
        """The name of the text file for a source: by its path, or its last part, or that of the annotations."""
        stem = splitext(path)[0]
        by_base = self._by_base.get(basename(stem), [])
        places = [normpath(join(dirname(file), stem)), stem]
        places += by_base if len(by_base) == 1 else []
        places += [splitext(file)[0]] if alone else []
        return next((place for place in places if place in self._note.texts), None)


def _path(identity: str) -> str:
    """The path in an IRI, with its characters in place of percent codes."""
    try:
        return unquote(urlsplit(identity).path).lstrip("/")
    except ValueError:
        return ""


def _is(record: Record, kind: str) -> bool:
    return kind in _list(record.get("type"))


def _list(value: object) -> list[Any]:
    """A list for a property that may have one value or several."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _annotations(record: Record) -> list[Any] | None:
    """The annotations in a page, a collection or a graph; None if the record is none of these."""
    if _is(record, "Annotation"):
        return [record]
    nodes = [record, *(node for node in _list(record.get("@graph")) if isinstance(node, dict))]
    found: list[Any] = []
    for node in nodes:
        page = node["first"] if isinstance(node.get("first"), dict) else node
        if isinstance(page.get("items"), list):
            found += page["items"]
        elif node is not record and _is(node, "Annotation"):
            found.append(node)
        elif "first" in node and page is node:
            return None
    known = _is(record, "AnnotationPage") or _is(record, "AnnotationCollection") or len(nodes) > 1
    return found if known or found else None


def _sources(record: Record, file: str, line: int) -> dict[str, _Source]:
    """The texts and annotations of a page, a collection or a graph. Raises NoteError."""
    annotations = _annotations(record)
    if annotations is None:
        message = _(
            "The record has no annotations. Expected: an Annotation, or an AnnotationPage or AnnotationCollection "
            "with its “items” (not the address of a page)."
        )
        raise NoteError([Problem(file, line, "record", message)])
    sources: dict[str, _Source] = {}
    for node in _list(record.get("@included")) + _list(record.get("@graph")):
        if isinstance(node, dict) and isinstance(node.get("value"), str) and isinstance(node.get("id"), str):
            sources[node["id"]] = _Source(line, node["value"])
    _gather(annotations, sources, file, line)
    for source in sources.values():
        source.label = record.get("label")
    return sources


def _gather(annotations: list[Any], sources: dict[str, _Source], file: str, line: int) -> None:
    """Add annotations to their sources. Raises NoteError with all annotations that have none."""
    problems: list[Problem] = []
    for annotation in annotations:
        targets = _list(annotation.get("target")) if isinstance(annotation, dict) else []
        located = [_located(target) for target in targets]
        if not located or None in located:
            message = _("An annotation has no target. Expected: a “target” with a “source” and a “selector”.")
            problems.append(Problem(file, line, "target", message))
            continue
        for place in located:
            if place:
                identity, text, target = place
                source = sources.setdefault(identity, _Source(line))
                source.text = text if source.text is None else source.text
                source.annotations.append((line, annotation, target))
    if problems:
        raise NoteError(problems)


def _located(target: object) -> tuple[str, str | None, Record] | None:
    """The IRI of the source of a target, its text if it is there, and the target."""
    if isinstance(target, str):
        source, _, fragment = target.partition("#")
        return source, None, {"selector": {"value": fragment}} if fragment else {}
    if not isinstance(target, dict):
        return None
    source = target.get("source", target)
    if isinstance(source, dict):
        identity, text = source.get("id", ""), source.get("value")
        if not isinstance(identity, str) or not (identity or isinstance(text, str)):
            return None
        return identity.partition("#")[0], text if isinstance(text, str) else None, target
    return (source, None, target) if isinstance(source, str) and source else None


def _bodies(annotation: Record) -> list[Any]:
    value = annotation.get("bodyValue")
    return _list(annotation.get("body")) + ([] if value is None else [{"value": value}])


def _is_tag(body: object, annotation: Record) -> bool:
    if not isinstance(body, dict) or "value" not in body:
        return False
    purposes = _list(body.get("purpose")) or _list(annotation.get("motivation"))
    return not purposes or any(isinstance(purpose, str) and purpose in _TAGS for purpose in purposes)


def _take(annotation: Record, target: Record, taker: SpanTaker, line: int, *, utf16: bool) -> None:
    """Take the spans of an annotation, one for each tag."""
    tags: list[object] = []
    properties: dict[str, object] = {}
    for body in _bodies(annotation):
        if _is_tag(body, annotation):
            tags.append(body["value"])
        elif isinstance(body, dict) and _is(body, _PROPERTY) and isinstance(body.get("schema:name"), str):
            properties[body["schema:name"]] = body.get("schema:value")
        else:
            taker.not_kept(_("Bodies that are not tags are not imported."), line)
    if not tags:
        taker.not_kept(_("Annotations without a tag are not imported."), line)
        return
    selectors = [each for each in _list(target.get("selector")) if isinstance(each, dict)]
    if not selectors:
        taker.not_kept(_("Tags of whole notes are not imported."), line)
        return
    place = _place(selectors, taker, line, utf16=utf16)
    if place:
        start, end, exact = place
        attributes = json_notes.attributes_in(properties, taker, line)
        for tag in tags:
            taker.take(tag, start, end, line=line, quote=exact, attributes=attributes)


def _place(
    selectors: Sequence[Record], taker: SpanTaker, line: int, *, utf16: bool
) -> tuple[object, object, str | None] | None:
    """The start, the end and the quote that the selectors give, or None after a problem was reported."""
    exact = next((each for each in selectors if isinstance(each.get("exact"), str)), None)
    words = exact["exact"] if exact else None
    for selector in selectors:
        if "start" in selector and "end" in selector and not _is(selector, "DataPositionSelector"):
            return selector["start"], selector["end"], words
        value = selector.get("value")
        if isinstance(value, str) and (match := _CHARACTERS.match(value)):
            return match[1], match[2], words
    if exact is None:
        message = _("A target has no selector that is known. Expected: a TextPositionSelector or a TextQuoteSelector.")
        taker.refuse("selector", message, line)
        return None
    prefix, suffix = (each if isinstance(each, str) else "" for each in (exact.get("prefix"), exact.get("suffix")))
    wanted = f"{prefix}{words}{suffix}"
    at = taker.text.find(wanted)
    if at < 0 or taker.text.find(wanted, at + 1) >= 0:
        found = _("is not in the text") if at < 0 else _("occurs more than once in the text")
        taker.refuse("quote", _("A quote {found}. Add a TextPositionSelector to the target.", found), line)
        return None
    start = at + len(prefix)
    units = Utf16(taker.text).units if utf16 else int
    return units(start), units(start + len(exact["exact"])), words
