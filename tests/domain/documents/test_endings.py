"""Every ending that names a kind of document is read as that kind; macros are no text."""

import pytest

from annotations.domain.documents.kinds import ENDINGS, Kind
from tests.domain.documents.helpers import docx, p, read
from tests.domain.documents.test_odt import odt

WORDS = "Dr. José Núñez"
MADE = {
    Kind.DOCX: docx(p(WORDS)),
    Kind.ODT: odt(f"<text:p>{WORDS}</text:p>"),
    Kind.HTML: f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{WORDS}</p></body></html>',
    Kind.TEXT: WORDS,
    Kind.RTF: r"{\rtf1\ansi Dr. Jos\'e9 N\'fa\'f1ez}",
}


@pytest.mark.parametrize("ending", [ending for ending, kind in ENDINGS.items() if kind in MADE])
def test_documents_are_read_by_every_ending(ending):
    for name in (f"case.{ending}", f"CASE.{ending.upper()}"):
        note = read(name, MADE[ENDINGS[ending]])
        assert (note.text.strip(), note.kind, note.name) == (WORDS, ENDINGS[ending], name.rpartition(".")[0])


@pytest.mark.parametrize("ending", ["docm", "dotm"])
def test_macros_are_left_out(ending):
    program = 'Sub AutoOpen()\nShell "calc"\nEnd Sub'
    assert read(f"case.{ending}", docx(p(WORDS), more={"word/vbaProject.bin": program.encode()})).text == WORDS
