"""Pictures of the pages from which a note was extracted, for people who read the note."""

import shutil
import tempfile
from posixpath import splitext

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from annotations.core.access import enter, note_for
from annotations.core.events import NOTE_READ
from annotations.core.requests import Request
from annotations.core.stored_files import open_stored
from annotations.exchange.selectors.places import IMAGES, original_of
from annotations.formats.documents.base import Limits
from annotations.formats.documents.extracting import Extractor
from annotations.formats.notes import NoteError

# Seconds for which a page waits for its picture.
SECONDS = 20


@require_safe
def source_page(request: Request, slug: str, pk: int, page: int) -> HttpResponse:
    """Send the picture of one page of a note's document. 404 where there is none. Recorded as reading the note."""
    access = enter(request.user, slug)
    note = note_for(access, pk)
    found = original_of(note.pk)
    if found is None:
        raise Http404("This note has no pages to show.")
    source, original = found
    if source.kind == "image":
        with open_stored(original) as file:
            picture, kind = file.read(), IMAGES[splitext(source.name)[1].lower()]
    else:
        with tempfile.TemporaryFile() as copy, Extractor(Limits(seconds=SECONDS)) as extractor:
            with open_stored(original) as file:
                shutil.copyfileobj(file, copy)
            copy.seek(0)
            try:
                picture, kind = extractor.picture(source.name, copy, page), "image/png"
            except NoteError:
                raise Http404("This page can't be drawn.") from None
    NOTE_READ.record(actor=access.user, project_id=note.project_id, document_id=note.pk, data={"what": "page"})
    response = HttpResponse(picture, content_type=kind)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
