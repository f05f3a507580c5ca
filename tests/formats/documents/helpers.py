"""Helpers for reading documents in this process, and for writing small ones."""

import io
import tarfile

from annotations.formats.documents.base import Limits, refused
from annotations.formats.documents.extracting import Extractor
from annotations.formats.documents.reading import read_document
from annotations.formats.documents.texts import ALL_RULES
from annotations.formats.notes import NoteError, ParsedNote
from tests.zips import zipped

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def results(
    name,
    data,
    *,
    encoding=None,
    rules=ALL_RULES,
    limits=Limits(),  # noqa: B008
    programs=False,
):
    """Everything that reading a document gives."""
    raw = io.BytesIO(data.encode() if isinstance(data, str) else data)
    return list(read_document(name, raw, limits=limits, encoding=encoding, rules=rules, programs=programs))


def read(name, data, **how):
    """The only note of a document."""
    (result,) = results(name, data, **how)
    assert isinstance(result, ParsedNote), str(result)
    return result


def refusal(name, data, **how):
    """The only problem of a document without notes."""
    (result,) = results(name, data, **how)
    assert isinstance(result, NoteError), result
    (problem,) = result.problems
    return problem


def mapped(note):
    """The parts of a note with their texts."""
    return [(str(part), note.text[part.start : part.end]) for part in note.parts]


def said(note):
    """The warnings of a note."""
    return [warning.message for warning in note.warnings]


def parts_of(note, start, end):
    """The parts of the document from which a span of the text comes."""
    return [str(part) for part in note.parts if part.start < end and start < part.end]


def found_in(results):
    """Names with texts, and files, lines and codes of problems."""
    notes, problems = [], []
    for each in results:
        if isinstance(each, ParsedNote):
            notes.append((each.name, each.text))
        else:
            problems += [(problem.file, problem.line, problem.code) for problem in each.problems]
    return notes, problems


def tarred(files, mode="w", entries=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in entries:
            archive.addfile(entry)
    return out.getvalue()


def docx(body, parts=None, more=None):
    """A DOCX with this XML in its body. `parts` are other parts by name: the last word of the relation, and the XML."""
    parts = parts or {}
    related = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{name}"/>'
        for number, (name, (kind, _xml)) in enumerate(parts.items(), 1)
    )
    root = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'
    files = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{RELATIONS}">{root}</Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELATIONS}">{related}</Relationships>',
        "word/document.xml": word("document", f"<w:body>{body}</w:body>"),
    }
    return zipped(files | {f"word/{name}": xml for name, (_kind, xml) in parts.items()} | dict(more or {}))


def word(tag, content):
    """A part of a DOCX."""
    return f'<w:{tag} xmlns:w="{WORD}" xmlns:r="{OFFICE}">{content}</w:{tag}>'


def p(text):
    """A paragraph of a DOCX."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def extract(
    name, data, *, encoding = None, rules = ALL_RULES,
    limits = None
):  # fmt: skip
    """The text of a document with one note. Raises NoteError if it can't be read, or holds several notes.

    For the arguments see `Extractor.results`.
    """
    with Extractor(limits or Limits()) as extractor:
        results = list(extractor.results(name, data, encoding=encoding, rules=rules))
    problems = [problem for each in results if isinstance(each, NoteError) for problem in each.problems]
    if problems:
        raise NoteError(problems)
    notes = [each for each in results if isinstance(each, ParsedNote)]
    if len(notes) != 1:
        message = f"The file holds {len(notes)} notes, not one. Import it as a file of many notes."
        raise refused(name, "many notes", message)
    return notes[0]
