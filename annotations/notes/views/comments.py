"""POST requests about comments."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.answers import csv_answer
from annotations.core.changes import change_id_of
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request
from annotations.models import Comment, Document
from annotations.notes.selectors.comment_table import comment_lines
from annotations.notes.services.comments import (
    ThreadSubject,
    add_comment,
    annotator_of_set,
    answer,
    delete_comment,
    edit_comment,
    resolve,
)
from annotations.notes.views.talk import Act, do, id_in, json_errors, needed_id, offset_in

Data = Mapping[str, Any]


@require_safe
def comments_export(request: Request, slug: str) -> StreamingHttpResponse:
    """All comments of the project as CSV. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"comments": "csv"})
    return csv_answer(comment_lines(access.project, access), f"{slug}-comments.csv")


@sensitive_post_parameters()
@require_POST
@json_errors
def comments(request: Request, slug: str, pk: int) -> HttpResponse:
    """Do what `act` says: add, answer, edit, delete, resolve or reopen (`open`).

    Scripts send `change_id` with new comments.
    """
    return do(request, slug, pk, ACTS, anchor="#comments")


def _add(access: Access, note: Document, data: Data) -> int:
    about = ThreadSubject(
        annotator=_annotator(access, note, data),
        span=id_in(data, "span"),
        start=offset_in(data, "start"),
        end=offset_in(data, "end"),
    )
    made = add_comment(access=access, document=note, about=about, text=data.get("text"), change_id=_change_id(data))
    return made.pk


def _annotator(access: Access, note: Document, data: Data) -> int | None:
    """Id of the annotator whose annotations are commented on.

    That is the user on the annotate page, and the author of `set` elsewhere.
    """
    if access.blind or "set" not in data:
        return access.user.pk
    return annotator_of_set(access, note, id_in(data, "set"))


def _answer(access: Access, note: Document, data: Data) -> int:
    thread = needed_id(data, "comment")
    made = answer(access=access, document=note, thread=thread, text=data.get("text"), change_id=_change_id(data))
    return _thread(made)


def _edit(access: Access, note: Document, data: Data) -> int:
    return _thread(
        edit_comment(access=access, document=note, comment=needed_id(data, "comment"), text=data.get("text"))
    )


def _delete(access: Access, note: Document, data: Data) -> int:
    return delete_comment(access=access, document=note, comment=needed_id(data, "comment"))


def _resolve(access: Access, note: Document, data: Data) -> int:
    return resolve(access=access, document=note, thread=needed_id(data, "comment")).pk


def _open(access: Access, note: Document, data: Data) -> int:
    return resolve(access=access, document=note, thread=needed_id(data, "comment"), resolved=False).pk


def _thread(comment: Comment) -> int:
    return comment.answers_id or comment.pk


def _change_id(data: Data) -> UUID | None:
    return change_id_of(data) if data.get("change_id") else None


ACTS: dict[str, Act] = {
    "add": _add, "answer": _answer, "edit": _edit, "delete": _delete, "resolve": _resolve, "open": _open,
}  # fmt: skip
