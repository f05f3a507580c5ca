"""Comments on spans and notes: adding, answering, changing, taking back, settling. Their text is in no event."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.changes import Refused
from annotations.core.events import record
from annotations.domain.wording import WordingError, worded
from annotations.models import Author, Comment, Document, Span, Verb
from annotations.notes.selectors.comments import may_comment, visible

LONGEST = 4000
# Comments and answers of one person on one note, and answers in one thread.
MOST_OF_A_PERSON = 100
MOST_ANSWERS = 50


@dataclass(frozen=True, slots=True)
class About:
    """What a new thread is about: a span, a stretch of the text (code points, end-exclusive), or nothing: the note.

    `reader` is the annotator whose reading it is about; None: the note itself, for those who may see every reading.
    """

    reader: int | None
    span: int | None = None
    start: int | None = None
    end: int | None = None


def add_comment(
    *, access: Access, document: Document, about: About, text: object, change_id: UUID | None = None
) -> Comment:
    """Begin a thread. The same `change_id` again makes no second one. Raises Refused."""
    _check_writer(access)
    if access.blind and about.reader != access.user.pk:
        raise Refused("reader", _("You can comment on your own reading only."), status=403)
    words = _words(text)
    place = _place(document, about)
    return _once(
        Comment(
            document_id=document.pk,
            reader_id=about.reader,
            author_id=access.user.pk,
            text=words,
            change_id=change_id,
            **place,
        ),
        access,
        {"reader": about.reader, "place": [place["start"], place["end"]] if place["start"] is not None else None},
    )


def answer(*, access: Access, document: Document, thread: int, text: object, change_id: UUID | None = None) -> Comment:
    """Answer a thread; an answer to an answer stands in its thread. Raises Refused."""
    _check_writer(access)
    words = _words(text)
    comment = _seen(access, document, thread)
    return _once(
        Comment(
            document_id=document.pk,
            reader_id=comment.reader_id,
            author_id=access.user.pk,
            answers_id=comment.answers_id or comment.pk,
            text=words,
            change_id=change_id,
        ),
        access,
        {"answers": comment.answers_id or comment.pk},
    )


def edit_comment(*, access: Access, document: Document, comment: int, text: object) -> Comment:
    """Say one's own comment in other words. Raises Refused."""
    _check_writer(access)
    words = _words(text)
    with transaction.atomic():
        row = _own(access, document, comment)
        if row.text == words:
            return row
        if not row.text:
            raise Refused("deleted", _("That comment was deleted; it can't be changed."), status=409)
        row.text, row.edited_at = words, timezone.now()
        row.save(update_fields=["text", "edited_at"])
        _record(Verb.COMMENT_CHANGED, access, row, {})
    return row


def delete_comment(*, access: Access, document: Document, comment: int) -> int:
    """Take one's own comment back: its text is gone at once. The row stays as long as answers hang on it.

    Returns the id of its thread, which may be gone.
    """
    _check_writer(access)
    with transaction.atomic():
        row = _own(access, document, comment)
        _record(Verb.COMMENT_DELETED, access, row, {})
        if row.answered_by.exists():
            row.text = ""
            row.save(update_fields=["text"])
            return row.answers_id or row.pk
        root, own = row.answers_id, row.pk
        row.delete()
        # A thread whose beginning was taken back ends with its last answer.
        if root is not None and not Comment.objects.filter(answers_id=root).exists():
            Comment.objects.filter(pk=root, text="").delete()
    return root or own


def settle(*, access: Access, document: Document, thread: int, settled: bool = True) -> Comment:
    """Settle a thread, or open it again. Raises Refused."""
    _check_writer(access)
    with transaction.atomic():
        row = _locked(access, document, thread)
        if row.answers_id is not None:
            raise Refused("answer", _("Only a whole thread can be settled, not an answer."))
        if (row.resolved_at is not None) == settled:
            return row
        row.resolved_at = timezone.now() if settled else None
        row.resolved_by = access.user if settled else None
        row.save(update_fields=["resolved_at", "resolved_by"])
        _record(Verb.COMMENT_RESOLVED, access, row, {"settled": settled})
    return row


def _check_writer(access: Access) -> None:
    if not may_comment(access):
        raise Refused("forbidden", _("You may read this project, but not comment in it."), status=403)


def _words(text: object) -> str:
    try:
        return worded(text, LONGEST, what="comment")
    except WordingError as error:
        raise Refused("text", _("Not saved: %(error)s.") % {"error": error}) from None


def _place(document: Document, about: About) -> dict[str, int | None]:
    """The columns of a place: a span's own bounds, or those that the page showed where it is gone."""
    if about.span is not None:
        found = _span(document, about)
        if found is not None:
            return {"span_id": found.pk, "start": found.start, "end": found.end}
    if about.start is None and about.end is None:
        if about.span is not None:
            raise Refused("span", _("That span is not there any more."), status=409)
        return {"span_id": None, "start": None, "end": None}
    if about.start is None or about.end is None or not 0 <= about.start < about.end <= document.length:
        raise Refused(
            "place",
            _("A comment's place must lie inside the note's %(length)s characters.")
            % {"length": f"{document.length:,}"},
        )
    return {"span_id": None, "start": about.start, "end": about.end}


def _span(document: Document, about: About) -> Span | None:
    """The span, if it is of the reading that the comment is about."""
    spans = Span.objects.filter(pk=about.span or 0, annotation_set__document_id=document.pk)
    if about.reader is not None:
        spans = spans.filter(
            annotation_set__author__user_id=about.reader, annotation_set__author__kind=Author.Kind.ANNOTATOR
        )
    return spans.first()


def _once(made: Comment, access: Access, data: dict[str, Any]) -> Comment:
    before = made.change_id and Comment.objects.filter(document_id=made.document_id, change_id=made.change_id).first()
    if not before:
        _check_number(made)
    try:
        with transaction.atomic():
            made.save()
            _record(Verb.COMMENT_ADDED, access, made, data | {"length": len(made.text)})
            return made
    except IntegrityError:
        before = Comment.objects.filter(document_id=made.document_id, change_id=made.change_id).first()
    if before is None or made.change_id is None:
        raise Refused("gone", _("What you answer was deleted in the meantime."), status=409)
    if before.author_id != made.author_id:
        raise Refused("change-id", _("This change id was used for another change."), status=409)
    return before


def _check_number(made: Comment) -> None:
    """A note's comments are read by people, and sent to their pages."""
    of_person = Comment.objects.filter(document_id=made.document_id, author_id=made.author_id)
    if of_person.order_by().count() >= MOST_OF_A_PERSON:
        raise Refused(
            "many",
            _("Not saved: you have %(count)s comments on this note, the most that it takes. Delete or edit one.")
            % {"count": MOST_OF_A_PERSON},
            status=422,
        )
    if made.answers_id and Comment.objects.filter(answers_id=made.answers_id).order_by().count() >= MOST_ANSWERS:
        raise Refused(
            "many",
            _("Not saved: this thread has %(count)s answers, the most that it takes. Begin a new one.")
            % {"count": MOST_ANSWERS},
            status=422,
        )


def _seen(access: Access, document: Document, pk: int) -> Comment:
    """A comment that this person may see."""
    row = visible(access, document).filter(pk=pk).first()
    if row is None:
        raise Refused("gone", _("That comment is not there (any more)."), status=404)
    return row


def _locked(access: Access, document: Document, pk: int) -> Comment:
    return Comment.objects.select_for_update().get(pk=_seen(access, document, pk).pk)


def _own(access: Access, document: Document, pk: int) -> Comment:
    row = _locked(access, document, pk)
    if row.author_id != access.user.pk:
        raise Refused("author", _("Only who wrote a comment can change or delete it."), status=403)
    return row


def _record(verb: Verb, access: Access, row: Comment, data: dict[str, Any]) -> None:
    record(
        verb=verb,
        actor=access.user,
        project_id=access.project.pk,
        document_id=row.document_id,
        data={"comment": row.pk, **{key: value for key, value in data.items() if value is not None}},
    )
