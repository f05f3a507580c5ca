"""Documents that other libraries wrote: text and source map are extracted exactly."""

import pytest

from fixtures.quality.documents import is_equal
from fixtures.quality.written_documents import docx, pdf
from tests.formats.documents.helpers import mapped, read


@pytest.mark.parametrize("seed", range(4))
def test_a_docx_reads_as_it_was_written(seed):
    written = docx(seed)
    note = read(written.name, written.data)
    assert note.text == written.text and mapped(note) == written.parts


@pytest.mark.parametrize("seed", range(3))
def test_a_pdf_reads_as_it_was_printed(seed):
    """Pages with one and two columns; words broken at the end of lines are whole."""
    written = pdf(seed)
    note = read(written.name, written.data)
    assert note.text == written.text and mapped(note) == written.parts
    assert is_equal(note, written) and ("hyphenation" in note.cleaned) == (seed == 1)
