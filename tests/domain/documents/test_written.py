"""Documents that other libraries wrote: text and source map are extracted exactly."""

import pytest

from fixtures.quality.documents import is_equal
from fixtures.quality.written_documents import docx, pdf
from tests.domain.documents.helpers import mapped, read


@pytest.mark.parametrize("seed", range(20))
def test_a_docx_reads_as_it_was_written(seed):
    written = docx(seed)
    note = read(written.name, written.data)
    assert note.text == written.text
    assert mapped(note) == written.parts


@pytest.mark.parametrize("seed", range(20))
def test_a_pdf_reads_as_it_was_printed(seed):
    """Pages with one and two columns; words broken at the end of lines are whole."""
    written = pdf(seed)
    note = read(written.name, written.data)
    assert note.text == written.text
    assert mapped(note) == written.parts


def test_the_generated_documents_contain_what_they_are_for():
    notes = [read(written.name, written.data) for written in map(pdf, range(20))]
    assert sum(note.cleaned.get("hyphenation", 0) for note in notes) > 20
    assert any("\n\n" in note.text for note in notes)
    assert all(is_equal(note, pdf(seed)) for seed, note in enumerate(notes))
