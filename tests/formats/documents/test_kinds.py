"""All kinds of documents: by their endings, as other libraries write them, and with random faults."""

import json
import random

import pytest

from annotations.formats.documents.extracting import DocumentsFormat
from annotations.formats.documents.reading import ENDINGS, DocumentKind
from annotations.formats.notes import ParsedNote
from fixtures.quality.documents import is_equal
from fixtures.quality.written_documents import docx as written_docx
from fixtures.quality.written_documents import pdf as written_pdf
from tests.formats.documents import test_records
from tests.formats.documents.helpers import docx, mapped, p, read, results, tarred
from tests.formats.documents.test_word_processors import odt, rtf
from tests.zips import zipped

WORDS = "Dr. José Núñez"
MADE = {
    DocumentKind.DOCX: docx(p(WORDS)),
    DocumentKind.ODT: odt(f"<text:p>{WORDS}</text:p>"),
    DocumentKind.HTML: f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{WORDS}</p></body></html>',
    DocumentKind.TEXT: WORDS,
    DocumentKind.RTF: r"{\rtf1\ansi Dr. Jos\'e9 N\'fa\'f1ez}",
}


@pytest.mark.parametrize("ending", [ending for ending, kind in ENDINGS.items() if kind in MADE])
def test_documents_are_read_by_every_ending(ending):
    for name in (f"case.{ending}", f"CASE.{ending.upper()}"):
        note = read(name, MADE[ENDINGS[ending]])
        assert (note.text.strip(), note.kind, note.name) == (WORDS, ENDINGS[ending], name.rpartition(".")[0])


CLAIMS = [
    ("case.txt", b"in UTF-8", False),
    ("case.txt", b"caf\xe9 in another encoding", True),
    ("case.pdf", b"%PDF-1.7 in ASCII", True),
    ("note.csv", b"note_id,person_id,note_date,note_text\n", True),
    ("case.json", b'{"resourceType": "Bundle"}', True),
]


@pytest.mark.parametrize(("name", "head", "claimed"), CLAIMS)
def test_what_is_claimed_as_a_document(name, head, claimed):
    assert DocumentsFormat().claims(name, head) is claimed


@pytest.mark.parametrize("ending", ["docm", "dotm"])
def test_macros_are_left_out(ending):
    program = 'Sub AutoOpen()\nShell "calc"\nEnd Sub'
    assert read(f"case.{ending}", docx(p(WORDS), more={"word/vbaProject.bin": program.encode()})).text == WORDS


# Documents that other libraries wrote: text and source map are extracted exactly.


@pytest.mark.parametrize("seed", range(4))
def test_a_docx_reads_as_it_was_written(seed):
    written = written_docx(seed)
    note = read(written.name, written.data)
    assert note.text == written.text and mapped(note) == written.parts


@pytest.mark.parametrize("seed", range(3))
def test_a_pdf_reads_as_it_was_printed(seed):
    """Pages with one and two columns; words broken at the end of lines are whole."""
    written = written_pdf(seed)
    note = read(written.name, written.data)
    assert note.text == written.text and mapped(note) == written.parts
    assert is_equal(note, written) and ("hyphenation" in note.cleaned) == (seed == 1)


# Documents with random faults: each is read or refused by name, and never with an error of a library.


def _mail():
    message = test_records.mail()
    message.set_content("text")
    message.add_attachment("more", filename="a.txt")
    return message.as_bytes()


WHOLE = {
    "a.pdf": written_pdf(1).data,
    "a.docx": written_docx(2).data,
    "a.odt": odt("<text:p>a<text:s/>b</text:p>"),
    "a.rtf": rtf(r"{\header H\par}a\'e9\u233?{\fonttbl{\f0\fcharset204 x;}}\f0 b{\footnote c}"),
    "a.html": b"<!doctype html><html><p>a<table><tr><td>b</html>",
    "a.eml": _mail(),
    "a.txt": "año 😀".encode(),
    "a.zip": zipped({"a.txt": "a", "b.html": "<p>b"}),
    "a.tgz": tarred({"a.txt": b"a" * 300}, "w:gz"),
    "a.hl7": test_records.message("OBX|1|TX|||a").encode(),
    "a.json": json.dumps(test_records.reference(test_records.attachment("abc"))).encode(),
    "a.csv": test_records.csv().encode(),
    "a.parquet": test_records.table(),
}


def broken(data, chance):
    """Some bytes changed, removed, repeated or added."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 3, 20))):
        if not found:
            break
        at = chance.randrange(len(found))
        match chance.randrange(4):
            case 0:
                found[at] = chance.randrange(256)
            case 1:
                del found[at : at + chance.randrange(1, 50)]
            case 2:
                found[at:at] = found[at : at + chance.randrange(1, 200)]
            case _:
                found[at:at] = chance.randbytes(chance.randrange(1, 8))
    return bytes(found)


@pytest.mark.parametrize("name", WHOLE)
def test_a_document_with_faults_is_read_or_refused_by_name(name):
    chance = random.Random(f"faults of {name}")
    refused = 0
    for _ in range(12):
        for each in results(name, broken(WHOLE[name], chance)):
            if isinstance(each, ParsedNote):
                assert each.text.strip() and all(0 <= part.start < part.end <= len(each.text) for part in each.parts)
                continue
            refused += 1
            for problem in each.problems:
                assert problem.file and problem.message.endswith(".") and problem.code not in ("memory", "crash")
    assert refused or name in ("a.html", "a.rtf", "a.txt", "a.eml", "a.hl7")
