"""Routes of comments and flags on notes."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.http import Http404, StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query

from annotations.core.access import Access, Can
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, as_is, paged
from annotations.core.api.routes import ApiRequest, Body, Note, ProjectRouter, invalid, named
from annotations.models import AnnotationSet, Document
from annotations.notes.selectors.comments import CommentThread, OpenFlag, comments_csv, flags_of, page_of, thread_of
from annotations.notes.services import talk
from annotations.text.names import MAX_ID, MAX_OFFSET

router = ProjectRouter(tags=["Comments and flags"])
PATH: Final = "/projects/{slug:slug}/notes/{int:note}"
COMMENT: Final = f"{PATH}/comments/{{int:comment}}"
_TEXT: Final[Mapping[str, str]] = {"text": "text"}
_ABOUT: Final[Mapping[str, str]] = {"text": "text", "location": "start", "span": "span"}
_FLAG: Final[Mapping[str, str]] = {"text": "text", "reason": "reason"}


class NewComment(Body):
    """A comment on a span, on a place (code points, end-exclusive), or on the whole note.

    `annotation_set` is the annotator's set that it is about; null: the note itself. What annotators write is always
    about their own annotations.
    """

    text: str
    annotation_set: int | None = Field(None, ge=0, le=MAX_ID)
    span: int | None = Field(None, ge=0, le=MAX_ID)
    start: int | None = Field(None, ge=0, le=MAX_OFFSET)
    end: int | None = Field(None, ge=0, le=MAX_OFFSET)


class CommentText(Body):
    text: str


class NewFlag(Body):
    """Why the note needs attention: unsure, text, language, not_a_note, sensitive, or other with a text."""

    reason: str
    text: str = ""


# ── Comments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get(f"{PATH}/comments", Can.SEE_PROJECT, response=Page[CommentThread])
def list_comments(request: ApiRequest, access: Access, note: Note, paging: Query[Paging]) -> PageAnswer:
    """List the threads of a note that the person may see, the newest first."""

    def fetch(after: int | None, size: int) -> Sequence[CommentThread]:
        found = page_of(access, note, before=after, size=size).threads
        talk.record_outcome_seen(access=access, document=note, shown=found)
        return sorted(found, key=lambda thread: -thread.id)

    return paged(request, paging, fetch, as_is, lambda thread: thread.id)


@router.post(f"{PATH}/comments", Can.ANNOTATE, response={201: CommentThread})
def new_comment(access: Access, note: Note, body: NewComment) -> CommentThread:
    """Start a thread."""
    about = talk.ThreadSubject(annotator=_annotator(access, note, body), span=body.span, start=body.start, end=body.end)
    with named(_ABOUT):
        made = talk.add_comment(access=access, document=note, about=about, text=body.text)
    return _read(access, note, made.pk)


@router.post(f"{COMMENT}/answers", Can.ANNOTATE, response={201: CommentThread})
def answer_comment(access: Access, note: Note, comment: int, body: CommentText) -> CommentThread:
    """Answer a thread. An answer to an answer belongs to the same thread."""
    with named(_TEXT):
        made = talk.answer(access=access, document=note, thread=comment, text=body.text)
    return _read(access, note, made.answers_id or made.pk)


@router.patch(COMMENT, Can.ANNOTATE, response=CommentThread)
def change_comment(access: Access, note: Note, comment: int, body: CommentText) -> CommentThread:
    """Change the text of one's own comment or answer."""
    with named(_TEXT):
        row = talk.edit_comment(access=access, document=note, comment=comment, text=body.text)
    return _read(access, note, row.answers_id or row.pk)


@router.delete(COMMENT, Can.ANNOTATE, response={204: None})
def remove_comment(access: Access, note: Note, comment: int) -> None:
    """Delete one's own comment or answer. A comment with answers only loses its text."""
    talk.delete_comment(access=access, document=note, comment=comment)


@router.post(f"{COMMENT}/resolve", Can.ANNOTATE, response=CommentThread)
def resolve_comment(access: Access, note: Note, comment: int) -> CommentThread:
    """Mark a thread as resolved."""
    return _resolve(access, note, comment, resolved=True)


@router.post(f"{COMMENT}/reopen", Can.ANNOTATE, response=CommentThread)
def reopen_comment(access: Access, note: Note, comment: int) -> CommentThread:
    """Make a resolved thread open again."""
    return _resolve(access, note, comment, resolved=False)


@router.get("/projects/{slug:slug}/comments.csv", Can.EXPORT, openapi_extra=sends("text/csv"))
def export_comments(access: Access) -> StreamingHttpResponse:
    """Get all comments of the project as a table. The audit log records it."""
    return comments_csv(access)


# ── Flags ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get(f"{PATH}/flags", Can.SEE_PROJECT, response=list[OpenFlag])
def list_flags(access: Access, note: Note) -> list[OpenFlag]:
    """List the open flags of a note: all that the person may see, one's own first."""
    return flags_of(access, note)


@router.post(f"{PATH}/flags", Can.ANNOTATE, response={201: OpenFlag})
def new_flag(access: Access, note: Note, body: NewFlag) -> OpenFlag:
    """Flag a note, or change the reason of one's own open flag."""
    with named(_FLAG):
        made = talk.raise_flag(access=access, document=note, reason=body.reason, text=body.text)
    return next(each for each in flags_of(access, note) if each.id == made.pk)


@router.delete(f"{PATH}/flags/{{int:flag}}", Can.ANNOTATE, response={204: None})
def remove_flag(access: Access, note: Note, flag: int) -> None:
    """Remove a flag: one's own, or any as a reviewer."""
    talk.clear_flag(access=access, document=note, flag=flag)


# ── Parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _annotator(access: Access, document: Document, body: NewComment) -> int | None:
    """Return the annotator whose annotations the comment is about; None: it is about the note itself."""
    if access.blind:
        return access.user.pk
    if body.annotation_set is None:
        return None
    if not AnnotationSet.objects.filter(pk=body.annotation_set, document=document).exists():
        raise invalid(("annotation_set", _("This note has no such annotation set.")))
    return talk.annotator_of_set(access, document, body.annotation_set)


def _resolve(access: Access, document: Document, comment: int, *, resolved: bool) -> CommentThread:
    talk.resolve(access=access, document=document, thread=comment, resolved=resolved)
    return _read(access, document, comment)


def _read(access: Access, document: Document, root: int) -> CommentThread:
    found = thread_of(access, document, root)
    if found is None:
        raise Http404("Somebody deleted the thread meanwhile.")
    talk.record_outcome_seen(access=access, document=document, shown=[found])
    return found
