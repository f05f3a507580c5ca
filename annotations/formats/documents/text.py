"""Plain text in any encoding. Its form feeds divide it into pages."""

import re
from collections.abc import Iterator
from typing import Final

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, refused
from annotations.formats.documents.encodings import DetectedEncoding, decode

# More control characters than this share are no text.
_MOST_CONTROL: Final = 0.05
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a text file. Raises NoteError if it isn't text in the chosen or found encoding."""
    text, found = decode(source.load(), source.encoding, file=source.name)
    if len(_CONTROL.findall(text)) > _MOST_CONTROL * len(text):
        raise refused(
            source.name,
            "no text",
            "The file is not text: it has too many control characters. Save the document as text, PDF or DOCX.",
        )
    draft = Draft(source)
    note_encoding(draft, found)
    pages = text.split("\f")
    if len(pages) == 1:
        draft.add(text, PartKind.BODY)
    else:
        for number, page in enumerate(pages, 1):
            draft.add(page, PartKind.PAGE, number)
    yield draft


def note_encoding(draft: Draft, found: DetectedEncoding) -> None:
    """Keep the encoding with the note, and say if it was guessed."""
    draft.encoding = found.encoding
    if found.guessed:
        draft.warn(
            f"The encoding {found.encoding} was guessed. Check letters with accents, and choose another if needed."
        )
