"""Routes of released notes, and of notes as a release would show them."""

from typing import Any, Literal, Self

from django.http import Http404, HttpResponseBase
from ninja import Query, Router, Schema

from annotations.core.access import Can, note_for
from annotations.core.api.paging import Page, Paging, paged_rows
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.events import NOTE_READ
from annotations.models import ReleasedNote, ReleasedNoteState
from annotations.notes.api import read_set
from annotations.release.api.releases import ReleasedPiece, pieces_of
from annotations.release.selectors.about import released_notes
from annotations.release.selectors.beside import stored_pieces
from annotations.release.selectors.releases import release_for
from annotations.release.services.viewing import viewed
from annotations.text.spans import Span

router = Router(tags=["Releases"])
PATH = "/projects/{slug:slug}/releases/{int:release}/notes"


class ReleasedItem(Schema):
    """A note of a release: `note` and `original_name` are those of the original. `state` is pending, done or held."""

    note: int
    original_name: str
    name: str
    state: str
    spans: int

    @classmethod
    def of(cls, one: ReleasedNote) -> Self:
        return cls(
            note=one.document_id, original_name=one.document.name, name=one.name, state=one.state, spans=one.span_count
        )


class ReleasedSpan(Schema):
    """A span of the released text: offsets in code points, end-exclusive, and the label's code."""

    start: int
    end: int
    label: str


class ReleasedText(ReleasedItem):
    """A note with its original and its released text, which is empty while the note is pending."""

    original: str
    text: str
    sha256: str
    released_spans: list[ReleasedSpan]
    pieces: list[ReleasedPiece]


class ViewedNote(Schema):
    """The text of a note with its spans masked, or replaced by surrogates, and what replaced what."""

    text: str
    pieces: list[ReleasedPiece]


@router.get(PATH, response=Page[ReleasedItem])
def list_released(
    request: ApiRequest, slug: str, release: int, paging: Query[Paging]
) -> dict[str, Any] | HttpResponseBase:
    """List the notes of a release."""
    found = release_for(enter(request, slug, Can.RELEASE), release)
    return paged_rows(request, paging, released_notes(found), ReleasedItem.of)


@router.get(f"{PATH}/{{int:note}}", response=ReleasedText)
def read_released(request: ApiRequest, slug: str, release: int, note: int) -> ReleasedText:
    """Read the original and the released text of a note. The audit log records it."""
    access = enter(request, slug, Can.RELEASE)
    rows = ReleasedNote.objects.filter(release=release_for(access, release)).select_related("document")
    row = rows.filter(document_id=note).first()
    if row is None:
        raise Http404("The release has no such note.")
    NOTE_READ.record(actor=access.user, project_id=access.project.pk, document_id=note, data={"what": "released note"})
    waiting = row.state == ReleasedNoteState.PENDING
    rows = [] if waiting else row.spans
    spans = [ReleasedSpan(start=start, end=end, label=label) for start, end, label, *_attributes in rows]
    return ReleasedText(
        **ReleasedItem.of(row).dict(), original=row.document.text, text="" if waiting else row.text, sha256=row.sha256,
        released_spans=spans, pieces=[] if waiting else pieces_of(stored_pieces(row.pieces)),
    )  # fmt: skip


@router.get("/projects/{slug:slug}/notes/{int:note}/sets/{int:annotation_set}/released", response=ViewedNote)
def view_released(
    request: ApiRequest, slug: str, note: int, annotation_set: int, view: Literal["masked", "surrogates"] = "masked"
) -> ViewedNote:
    """Show a note with the spans of an annotation set masked or replaced. Nothing is stored but that it was read."""
    access = enter(request, slug, Can.READ_NOTES)
    document = note_for(access, note)
    document.project = access.project
    chosen = read_set(request, slug, note, annotation_set)
    spans = [Span(one.start, one.end, one.label) for one in chosen.items]
    found = viewed(document=document, spans=spans, view=view)
    return ViewedNote(text=found.text, pieces=pieces_of(found.pieces))
