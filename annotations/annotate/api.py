"""Routes of a person's own annotations of a note: read, start, change spans, submit, reopen.

The ETag is the version of the annotation set. Whoever changes or deletes spans, or submits, sends the ETag that they
read (If-Match), so that nobody overwrites a change unseen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import uuid4

from django.db import transaction
from django.http import Http404, HttpResponse
from ninja import Field, Schema

from annotations.annotate.services.annotation_set import SetStatus, hand_in, reopen, start_annotations, state_of
from annotations.annotate.services.spans import ChangedSpans, apply_change
from annotations.core.access import Access, Can
from annotations.core.api.answers import check_if_match, outdated
from annotations.core.api.routes import ApiRequest, Body, Note, ProjectRouter, invalid, named
from annotations.core.changes import ChangeKind, ChangeRefused, SpanEdit
from annotations.core.services import NOTE_READ
from annotations.core.spans import SpanItem, own_set, spans_of
from annotations.models import AnnotationSet, Document
from annotations.notes.api import SpanOut, codes_of, label_coded
from annotations.text.names import MAX_OFFSET
from annotations.text.spans import LabeledBounds

router = ProjectRouter(tags=["Annotations"])


class OwnAnnotations(Schema):
    """The person's own annotation set of a note. `state` is unstarted, draft, submitted or withdrawn."""

    version: int
    state: str
    items: list[SpanOut]


class NewSpan(Body):
    """A span: offsets in code points, end-exclusive. `quote`, if given, must be the text between them."""

    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    label: str = Field(max_length=60, description="Code of a label of the project.")
    quote: str | None = None


class ChangedSpan(Body):
    """What to change of a span: both offsets, the label, or attributes (null removes one)."""

    start: int | None = Field(None, ge=0, le=MAX_OFFSET)
    end: int | None = Field(None, ge=0, le=MAX_OFFSET)
    label: str | None = Field(None, max_length=60)
    quote: str | None = None
    attributes: dict[str, str | bool | None] = {}


class SavedSpan(Schema):
    """The span as it is saved, without white space at its ends, and the version of the annotation set."""

    version: int
    span: SpanOut


PATH = "/projects/{slug:slug}/notes/{int:note}/annotations"
_FIELDS: Final = {"quote": "quote", "outside": "end", "empty": "end", "white": "start"}
"""The field to name for each code of a refused span."""


@router.get(PATH, Can.ANNOTATE, response=OwnAnnotations)
def read_annotations(response: HttpResponse, access: Access, note: Note) -> OwnAnnotations:
    """Read the person's own annotation set of a note. The audit log records it."""
    NOTE_READ.record(actor=access.user, note=note)
    return _own(response, access, note)


@router.post(f"{PATH}/start", Can.ANNOTATE, response=OwnAnnotations)
def start_own_annotations(response: HttpResponse, access: Access, note: Note) -> OwnAnnotations:
    """Start the annotation set from a run's spans, where the project says so. Repeating it changes nothing."""
    start_annotations(access=access, note=note)
    return _own(response, access, note)


@router.post(f"{PATH}/spans", Can.ANNOTATE, response={201: SavedSpan})
def create_span(response: HttpResponse, access: Access, note: Note, body: NewSpan) -> SavedSpan:
    """Create a span. The same span again changes nothing."""
    label = label_coded(access.project, body.label)
    change = SpanEdit(uuid4(), ChangeKind.CREATE, start=body.start, end=body.end, label=label, quote=body.quote)
    with named(_FIELDS):
        answer = apply_change(access=access, note=note, change=change)
    assert answer.span is not None  # Creating always gives a span.
    # Only a label that was merged meanwhile is another one than the one that was asked for.
    code = body.label if answer.span["label"] == label else codes_of(access.project.pk)[answer.span["label"]]
    _set_etag(response, note, answer.version)
    return SavedSpan(version=answer.version, span=SpanOut.of(answer.span, code))


@router.patch(f"{PATH}/spans/{{int:span}}", Can.ANNOTATE, response=SavedSpan)
def change_span(
    request: ApiRequest, response: HttpResponse, access: Access, note: Note, span: int, body: ChangedSpan
) -> SavedSpan:
    """Change the bounds, the label or attributes of a span."""
    version, item = _held(request, access, note, span)
    answer: ChangedSpans | None = None
    with _current(note, access), named(_FIELDS), transaction.atomic():
        for change in _changes(access, item, body):
            # The changes after the first one meet the version that the first one made.
            answer = _apply(access, note, item, version if answer is None else None, **change)
            item = answer.span or item
    if answer is None:
        raise invalid(("", "Nothing to change: give start and end, label, or attributes."))
    _set_etag(response, note, answer.version)
    now = _span_in(own_set(note.pk, access.user), item["id"]) or item
    return SavedSpan(version=answer.version, span=SpanOut.of(now, codes_of(access.project.pk)[now["label"]]))


@router.delete(f"{PATH}/spans/{{int:span}}", Can.ANNOTATE, response=SetStatus)
def delete_span(request: ApiRequest, response: HttpResponse, access: Access, note: Note, span: int) -> SetStatus:
    """Delete a span."""
    version, item = _held(request, access, note, span)
    with _current(note, access):
        answer = _apply(access, note, item, version, kind=ChangeKind.DELETE)
    _set_etag(response, note, answer.version)
    return SetStatus(answer.version, "draft")


@router.post(f"{PATH}/submit", Can.ANNOTATE, response=SetStatus)
def submit_annotations(request: ApiRequest, response: HttpResponse, access: Access, note: Note) -> SetStatus:
    """Submit the annotation set. Without spans, this says that there is nothing to annotate in the note."""
    own = own_set(note.pk, access.user)
    version = own.version if own else 0
    exact = version if check_if_match(request, _etag(note, version)) else None
    with _current(note, access):
        status = hand_in(access=access, note=note, version=exact)
    _set_etag(response, note, status.version)
    return status


@router.post(f"{PATH}/reopen", Can.ANNOTATE, response=SetStatus)
def reopen_annotations(response: HttpResponse, access: Access, note: Note) -> SetStatus:
    """Make a submitted annotation set a draft again."""
    status = reopen(document=note, user=access.user)
    _set_etag(response, note, status.version)
    return status


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _own(response: HttpResponse, access: Access, document: Document) -> OwnAnnotations:
    own = own_set(document.pk, access.user)
    version, codes = own.version if own else 0, codes_of(access.project.pk)
    _set_etag(response, document, version)
    items = [SpanOut.of(span, codes[span["label"]]) for span in (spans_of(own.pk) if own else [])]
    return OwnAnnotations(version=version, state=state_of(access, document, own), items=items)


def _span_in(own: AnnotationSet | None, pk: int) -> SpanItem | None:
    return next((one for one in (spans_of(own.pk) if own else []) if one["id"] == pk), None)


def _etag(document: Document, version: int) -> str:
    return f'"{document.pk}-{version}"'


def _set_etag(response: HttpResponse, document: Document, version: int) -> None:
    response["ETag"] = _etag(document, version)


# ── Changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _held(request: ApiRequest, access: Access, document: Document, span: int) -> tuple[int | None, SpanItem]:
    """Return the version that the change must meet (None: any) and the span as it is now. Raises Http404, Problem."""
    own = own_set(document.pk, access.user)
    item = _span_in(own, span)
    if own is None or item is None:
        raise Http404("The person's annotation set has no such span.")
    return (own.version if check_if_match(request, _etag(document, own.version)) else None), item


def _changes(access: Access, item: SpanItem, body: ChangedSpan) -> Iterator[dict[str, Any]]:
    """The changes that the body asks for, one after the other."""
    if (body.start is None) != (body.end is None):
        raise invalid(("end" if body.end is None else "start", "Give start and end together."))
    if body.start is not None:
        yield {"kind": ChangeKind.RESIZE, "start": body.start, "end": body.end, "quote": body.quote}
    if body.label is not None:
        yield {"kind": ChangeKind.RELABEL, "label": label_coded(access.project, body.label)}
    for name, value in body.attributes.items():
        if value is False:
            raise invalid((f"attributes.{name}", "Send null to remove an attribute."))
        yield {"kind": ChangeKind.ATTRIBUTE, "name": name, "value": value}


def _apply(access: Access, document: Document, item: SpanItem, version: int | None, **change: Any) -> ChangedSpans:
    seen: LabeledBounds = (item["start"], item["end"], item["label"])
    edit = SpanEdit(change_id=uuid4(), span=item["id"], seen=seen, version=version, exact=version is not None, **change)
    return apply_change(access=access, note=document, change=edit)


@contextmanager
def _current(document: Document, access: Access) -> Iterator[None]:
    """Answer a change of something that has changed meanwhile with 412 and the ETag of what is there now."""
    try:
        yield
    except ChangeRefused as refused:
        if refused.code not in ("stale", "changed"):
            raise
        own = own_set(document.pk, access.user)
        raise outdated(_etag(document, own.version if own else 0)) from refused
