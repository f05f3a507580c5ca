"""Every ending that names a kind of document is read as that kind; macros are no text."""

import pytest

from annotations.formats.documents.extracting import DocumentsFormat
from annotations.formats.documents.reading import ENDINGS, DocumentKind
from tests.formats.documents.helpers import docx, p, read
from tests.formats.documents.test_odt import odt

WORDS = "Dr. José Núñez"
MADE = {
    DocumentKind.DOCX: docx(p(WORDS)), DocumentKind.ODT: odt(f"<text:p>{WORDS}</text:p>"),
    DocumentKind.HTML: f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{WORDS}</p></body></html>',
    DocumentKind.TEXT: WORDS, DocumentKind.RTF: r"{\rtf1\ansi Dr. Jos\'e9 N\'fa\'f1ez}",
}  # fmt: skip


@pytest.mark.parametrize("ending", [ending for ending, kind in ENDINGS.items() if kind in MADE])
def test_documents_are_read_by_every_ending(ending):
    for name in (f"case.{ending}", f"CASE.{ending.upper()}"):
        note = read(name, MADE[ENDINGS[ending]])
        assert (note.text.strip(), note.kind, note.name) == (WORDS, ENDINGS[ending], name.rpartition(".")[0])


CLAIMS = [
    ("case.txt", b"in UTF-8", False), ("case.txt", b"caf\xe9 in another encoding", True),
    ("case.pdf", b"%PDF-1.7 in ASCII", True), ("note.csv", b"note_id,person_id,note_date,note_text\n", True),
    ("case.json", b'{"resourceType": "Bundle"}', True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "head", "claimed"), CLAIMS)
def test_what_is_claimed_as_a_document(name, head, claimed):
    assert DocumentsFormat().claims(name, head) is claimed


@pytest.mark.parametrize("ending", ["docm", "dotm"])
def test_macros_are_left_out(ending):
    program = 'Sub AutoOpen()\nShell "calc"\nEnd Sub'
    assert read(f"case.{ending}", docx(p(WORDS), more={"word/vbaProject.bin": program.encode()})).text == WORDS
