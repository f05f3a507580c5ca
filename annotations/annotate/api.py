"""Routes of a person's own annotations of a note: read, start, change spans, submit, reopen.

The ETag is the version of the annotation set. Whoever changes or deletes spans, or submits, sends the ETag that they
read (If-Match), so that nobody overwrites a change unseen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self
from uuid import uuid4

from django.db import transaction
from django.http import Http404, HttpResponse
from ninja import Field, Router, Schema
from ninja.responses import Status

from annotations.annotate.selectors.seeding import state_of
from annotations.annotate.services.annotation_set import reopen, submit, unseen_seed
from annotations.annotate.services.seeding import start_annotations
from annotations.annotate.services.spans import Answer, apply_change
from annotations.core.access import Access, Can, note_for
from annotations.core.api.etags import matched, outdated
from annotations.core.api.problems import invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.changes import ChangeKind, LabeledBounds, Refused, SpanEdit
from annotations.core.events import NOTE_READ
from annotations.core.spans import SpanItem, own_set, spans_of
from annotations.models import Document
from annotations.notes.api import SpanOut, codes_of, label_coded
from annotations.text.names import MAX_OFFSET

router = Router(tags=["Annotations"])


class OwnAnnotations(Schema):
    """The person's own annotation set of a note. `state` is unstarted, draft, submitted or withdrawn."""

    version: int
    state: str
    items: list[SpanOut]


class SetState(Schema):
    version: int
    state: str


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

    @classmethod
    def of(cls, answer: Answer, item: SpanItem, code: str) -> Self:
        return cls(version=answer.version, span=SpanOut.of(item, code))


PATH = "/projects/{slug:slug}/notes/{int:note}/annotations"
_FIELDS: Final = {"quote": "quote", "outside": "end", "empty": "end", "white": "start"}
"""The field to name for each code of a refused span."""


@router.get(PATH, response=OwnAnnotations)
def read_annotations(request: ApiRequest, response: HttpResponse, slug: str, note: int) -> OwnAnnotations:
    """Read the person's own annotation set of a note. The audit log records it."""
    access, document = _open(request, slug, note)
    NOTE_READ.record(actor=access.user, project_id=document.project_id, document_id=document.pk)
    return _own(response, access, document)


@router.post(f"{PATH}/start", response=OwnAnnotations)
def start_own_annotations(request: ApiRequest, response: HttpResponse, slug: str, note: int) -> OwnAnnotations:
    """Start the annotation set from a run's spans, where the project says so. Repeating it changes nothing."""
    access, document = _open(request, slug, note)
    start_annotations(access=access, note=document)
    return _own(response, access, document)


@router.post(f"{PATH}/spans", response={201: SavedSpan})
def create_span(request: ApiRequest, response: HttpResponse, slug: str, note: int, body: NewSpan) -> Status[SavedSpan]:
    """Create a span. The same span again changes nothing."""
    access, document = _open(request, slug, note)
    start_annotations(access=access, note=document)
    label = label_coded(access.project, body.label)
    change = SpanEdit(uuid4(), ChangeKind.CREATE, start=body.start, end=body.end, label=label, quote=body.quote)
    with named(_FIELDS):
        answer = apply_change(document=document, user=access.user, change=change, blind=access.blind)
    assert answer.span is not None  # Creating always gives a span.
    response["ETag"] = _etag(document, answer.version)
    # Only a label that was merged meanwhile is another one than the one that was asked for.
    code = body.label if answer.span["label"] == label else codes_of(access.project.pk)[answer.span["label"]]
    return Status(201, SavedSpan.of(answer, answer.span, code))


@router.patch(f"{PATH}/spans/{{int:span}}", response=SavedSpan)
def change_span(
    request: ApiRequest, response: HttpResponse, slug: str, note: int, span: int, body: ChangedSpan
) -> SavedSpan:
    """Change the bounds, the label or attributes of a span."""
    access, document = _open(request, slug, note)
    version, item = _held(request, access, document, span)
    with _current(document, access), named(_FIELDS), transaction.atomic():
        answer: Answer | None = None
        for change in _changes(access, item, body):
            # The changes after the first one meet the version that the first one made.
            exact = {"version": version, "exact": True} if version is not None and answer is None else {}
            made = _change(change, span, item, exact)
            answer = apply_change(document=document, user=access.user, change=made, blind=access.blind)
            item = answer.span or item
    if answer is None:
        raise invalid(("", "Nothing to change: give start and end, label, or attributes."))
    response["ETag"] = _etag(document, answer.version)
    now = next((one for one in spans_of_own(document, access) if one["id"] == item["id"]), item)
    return SavedSpan.of(answer, now, codes_of(access.project.pk)[now["label"]])


@router.delete(f"{PATH}/spans/{{int:span}}", response=SetState)
def delete_span(request: ApiRequest, response: HttpResponse, slug: str, note: int, span: int) -> SetState:
    """Delete a span."""
    access, document = _open(request, slug, note)
    version, item = _held(request, access, document, span)
    exact = {"version": version, "exact": True} if version is not None else {}
    with _current(document, access):
        change = _change({"kind": ChangeKind.DELETE}, span, item, exact)
        answer = apply_change(document=document, user=access.user, change=change, blind=access.blind)
    response["ETag"] = _etag(document, answer.version)
    return SetState(version=answer.version, state="draft")


@router.post(f"{PATH}/submit", response=SetState)
def submit_annotations(request: ApiRequest, response: HttpResponse, slug: str, note: int) -> SetState:
    """Submit the annotation set. Without spans, this says that there is nothing to annotate in the note."""
    access, document = _open(request, slug, note)
    if start_annotations(access=access, note=document):
        raise unseen_seed(document=document, user=access.user)
    own = own_set(document.pk, access.user)
    version = own.version if own else 0
    exact = version if matched(request, _etag(document, version)) else None
    with _current(document, access):
        status = submit(document=document, user=access.user, version=exact, blind=access.blind)
    response["ETag"] = _etag(document, status.version)
    return SetState(version=status.version, state=status.state)


@router.post(f"{PATH}/reopen", response=SetState)
def reopen_annotations(request: ApiRequest, response: HttpResponse, slug: str, note: int) -> SetState:
    """Make a submitted annotation set a draft again."""
    access, document = _open(request, slug, note)
    status = reopen(document=document, user=access.user)
    response["ETag"] = _etag(document, status.version)
    return SetState(version=status.version, state=status.state)


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _open(request: ApiRequest, slug: str, note: int) -> tuple[Access, Document]:
    access = enter(request, slug, Can.ANNOTATE)
    return access, note_for(access, note)


def _own(response: HttpResponse, access: Access, document: Document) -> OwnAnnotations:
    own = own_set(document.pk, access.user)
    version, codes = own.version if own else 0, codes_of(access.project.pk)
    response["ETag"] = _etag(document, version)
    items = [SpanOut.of(span, codes[span["label"]]) for span in (spans_of(own.pk) if own else [])]
    return OwnAnnotations(version=version, state=state_of(access, document, own), items=items)


def spans_of_own(document: Document, access: Access) -> list[SpanItem]:
    own = own_set(document.pk, access.user)
    return spans_of(own.pk) if own else []


def _etag(document: Document, version: int) -> str:
    return f'"{document.pk}-{version}"'


# ── Changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _held(request: ApiRequest, access: Access, document: Document, span: int) -> tuple[int | None, SpanItem]:
    """Return the version that the change must meet (None: any) and the span as it is now. Raises Http404, Problem."""
    own = own_set(document.pk, access.user)
    item = next((one for one in (spans_of(own.pk) if own else []) if one["id"] == span), None)
    if own is None or item is None:
        raise Http404("The person's annotation set has no such span.")
    return (own.version if matched(request, _etag(document, own.version)) else None), item


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


def _change(wanted: dict[str, Any], span: int, item: SpanItem, exact: dict[str, Any]) -> SpanEdit:
    seen: LabeledBounds = (item["start"], item["end"], item["label"])
    return SpanEdit(change_id=uuid4(), span=span, seen=seen, **wanted, **exact)


@contextmanager
def _current(document: Document, access: Access) -> Iterator[None]:
    """Answer a change of something that has changed meanwhile with 412 and the ETag of what is there now."""
    try:
        yield
    except Refused as refused:
        if refused.code not in ("stale", "changed"):
            raise
        own = own_set(document.pk, access.user)
        raise outdated(_etag(document, own.version if own else 0)) from refused
