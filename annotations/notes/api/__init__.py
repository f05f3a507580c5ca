"""Routes of notes and of their annotation sets, for reading."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from django.http import Http404
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, notes_for, sets_for
from annotations.core.api.paging import Page, PageAnswer, Paging, paged
from annotations.core.api.routes import Answer, ApiRequest, Body, Note, ProjectRouter, enter, invalid, named
from annotations.core.services import NOTE_READ
from annotations.core.spans import SpanItem, own_sets, spans_of
from annotations.core.suggestions import hidden_in
from annotations.models import Document, Label, NoteMetadata, Project
from annotations.models.prepared import PreparedRead
from annotations.notes.selectors.in_context import SetSummary, annotation_sets_of
from annotations.notes.selectors.notes import NoteRow, Show, choices, note_page
from annotations.notes.selectors.searching import Hit, Options, Results
from annotations.notes.services.searching import LONGEST, search_at_once
from annotations.text.names import MAX_ID

router = ProjectRouter(tags=["Notes"])


class NoteItem(Answer):
    """A note in a list. `length` is in code points; `own` is open, begun or done, or empty if it isn't assigned to you.

    `submitted` and `drafts` name the authors of annotation sets, as far as the person may know them.
    """

    id: int = Field(validation_alias="pk")
    name: str
    language: str
    length: int
    own: str
    submitted: str
    drafts: str
    open: int
    gold: bool
    in_review: bool
    flag: str


class NoteWithText(Schema):
    """A note with its text. The patient, the type and the site only for people who may read every note."""

    id: int
    name: str
    language: str
    length: int
    text: str
    created_at: datetime
    patient_id: str | None = None
    note_type: str | None = None
    site: str | None = None


class SetItem(Answer):
    """An annotation set: its author, state, version (which counts its changes) and number of spans.

    `imported`: a file or an archive brought it, so what it says of its author is not checked.
    """

    id: int = Field(validation_alias="pk")
    author: str = Field(validation_alias="name")
    kind: str
    state: str
    version: int
    changed_at: datetime = Field(validation_alias="changed")
    spans: int
    imported: bool


class SpanOut(Schema):
    """A span: offsets in code points, end-exclusive; the label's code; attributes by name."""

    id: int
    start: int
    end: int
    label: str
    attributes: dict[str, str | bool] = {}

    @classmethod
    def of(cls, item: SpanItem, code: str) -> Self:
        attributes = dict(item.get("attributes", {}))
        return cls(id=item["id"], start=item["start"], end=item["end"], label=code, attributes=attributes)


class SetWithSpans(SetItem):
    items: list[SpanOut]


# Saving a span through the API runs this query.
_LABEL = PreparedRead(
    lambda project, code: (
        Label.objects.filter(label_set__project_id=project, code=code).order_by().values_list("pk", "merged_into_id")
    ),
    int,
    str,
)


def label_coded(project: Project, code: str, field: str = "label") -> int:
    """Return the id of the label with this code, or of the one that it was merged into. Raises Problem (422)."""
    label = _LABEL.first(project.pk, code)
    if label is None:
        raise invalid((field, "The project has no label with this code."))
    pk, merged_into = label
    return int(merged_into or pk)


def codes_of(project_id: int) -> dict[int, str]:
    """Return the code of each label of the project by its id, merged labels included."""
    return dict(Label.objects.filter(label_set__project_id=project_id).values_list("pk", "code"))


@router.get("/projects/{slug:slug}/notes", Can.SEE_PROJECT, response=Page[NoteItem])
def list_notes(request: ApiRequest, access: Access, paging: Query[Paging], state: Show = Show.ALL) -> PageAnswer:
    """List the notes that the person may open, by id. `state` filters them as on the page of notes."""
    shown = next((show for show in choices(access) if show == state), None)

    def fetch(after: int | None, size: int) -> Sequence[NoteRow]:
        return [] if shown is None else _rows(access, shown, after, size)

    return paged(request, paging, fetch, NoteItem.model_validate, lambda row: row.pk)


def _rows(access: Access, shown: Show, after: int | None, size: int) -> list[NoteRow]:
    """Return as many rows after a note as there are, over several windows of the filter if need be."""
    rows: list[NoteRow] = []
    while len(rows) < size:
        page = note_page(access, shown, after=after, size=size - len(rows))
        rows += page.rows
        after = page.next or page.stopped
        if after is None:
            break
    return rows


@router.get("/projects/{slug:slug}/notes/{int:note}", Can.SEE_PROJECT, response=NoteWithText)
def read_note(access: Access, note: Note) -> NoteWithText:
    """Read a note. The audit log records it."""
    NOTE_READ.record(actor=access.user, note=note)
    more = _about(note) if access.can(Can.READ_NOTES) else {}
    return NoteWithText(
        id=note.pk, name=note.name, language=note.language, length=note.length, text=note.text,
        created_at=note.created_at, **more,
    )  # fmt: skip


def _about(note: Document) -> dict[str, str]:
    metadata = NoteMetadata.objects.filter(pk=note.pk).first() or NoteMetadata()
    return {"patient_id": note.patient_id, "note_type": metadata.note_type, "site": metadata.site}


@router.get("/projects/{slug:slug}/notes/{int:note}/sets", response=list[SetItem])
def list_sets(request: ApiRequest, slug: str, note: int) -> list[SetSummary]:
    """List the annotation sets of a note: all that the person may see, or only the person's own."""
    return _sets(request, slug, note)[2]


@router.get("/projects/{slug:slug}/notes/{int:note}/sets/{int:annotation_set}", response=SetWithSpans)
def read_set(request: ApiRequest, slug: str, note: int, annotation_set: int) -> SetWithSpans:
    """Read an annotation set with its spans. The audit log records it."""
    access, document, sets = _sets(request, slug, note)
    chosen = next((one for one in sets if one.pk == annotation_set), None)
    if chosen is None:
        raise Http404("This note has no such annotation set.")
    NOTE_READ.record(actor=access.user, note=document, data={"set": chosen.pk})
    hidden, codes = hidden_in(chosen.pk), codes_of(access.project.pk)
    items = [SpanOut.of(span, codes[span["label"]]) for span in spans_of(chosen.pk) if span["id"] not in hidden]
    return SetWithSpans(**SetItem.model_validate(chosen).dict(), items=items)


def _sets(request: ApiRequest, slug: str, note: int) -> tuple[Access, Document, list[SetSummary]]:
    """Return the note, without its text, and those of its annotation sets that the person may see."""
    access = enter(request, slug)
    document = notes_for(access).defer("text").filter(pk=note).first()
    if document is None:
        raise Http404("This note does not exist.")
    sets = sets_for(access).filter(document=document) if access.can(Can.READ_NOTES) else own_sets(note, access.user)
    return access, document, annotation_sets_of(sets)


# Route of the search in the texts of notes.


class NoteSearch(Body):
    """What to search for, in the notes after the id `after`.

    `where`: everywhere, only unmarked text, or only spans with the `label`, a code. `annotations` are the person's own
    or gold, as far as `where` needs them.
    """

    text: str = Field(min_length=1, max_length=LONGEST)
    word: bool = False
    case: bool = False
    ignore_accents: bool = False
    where: Literal["all", "unlabeled", "label"] = "all"
    label: str = Field("", max_length=60)
    annotations: Literal["own", "gold"] = "own"
    after: int = Field(0, ge=0, le=MAX_ID)


class FoundNote(Answer):
    """A note with its first 10 hits, and the number of all hits in it."""

    note: int = Field(validation_alias="pk")
    name: str
    count: int
    hits: list[Hit]


class SearchResults(Answer):
    """At most 25 notes with hits. `looked` counts the notes searched. `next` is the next `after`; null at the end."""

    notes: list[FoundNote]
    looked: int
    next: int | None


@router.post("/projects/{slug:slug}/search", Can.SEE_PROJECT, response=SearchResults)
def search_notes(access: Access, body: NoteSearch) -> Results:
    """Search the texts of the notes that the person may open. Words are in the body; the audit log has counts only."""
    label = label_coded(access.project, body.label) if body.where == "label" and body.label else None
    options = Options(
        case=body.case, accents=not body.ignore_accents, word=body.word, where=body.where, label=label,
        annotation_set=body.annotations,
    )  # fmt: skip
    with named({"text": "text", "label": "label", "annotations": "annotations"}):
        return search_at_once(access=access, text=body.text, options=options, after=body.after)
