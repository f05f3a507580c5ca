"""Add, answer, edit, delete and resolve comments on spans and notes. Events never hold their text."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.changes import ChangeRefused
from annotations.core.services import NOTE_READ, Verb
from annotations.models import AnnotationSet, AuthorKind, Comment, Document, Flag, Span
from annotations.notes import events
from annotations.notes.selectors.comments import CommentThread, has_seen_outcome, may_clear, may_comment, visible
from annotations.text.names import WordingError, worded

LONGEST = 4000
# Limits: comments and answers of one person on one note, and answers in one thread.
MOST_OF_A_PERSON = 100
MOST_ANSWERS = 50


@dataclass(frozen=True, slots=True)
class ThreadSubject:
    """Subject of a new thread: a span, a location in the text (code points, end-exclusive), or the whole note.

    `annotator` is the user id of the annotator whose annotations the thread is about. With None, the thread is about
    the note itself, visible to members who may see all annotations.
    """

    annotator: int | None
    span: int | None = None
    start: int | None = None
    end: int | None = None


def add_comment(
    *, access: Access, document: Document, about: ThreadSubject, text: object, change_id: UUID | None = None
) -> Comment:
    """Start a thread. The same `change_id` starts only one thread. Raises Refused."""
    _check_writer(access)
    if access.blind and about.annotator != access.user.pk:
        raise ChangeRefused("annotator", _("You can only comment on your own annotations."), status=403)
    cleaned = _cleaned(text, LONGEST, "comment")
    location = _location(document, about)
    said: events.CommentDone = {}
    if about.annotator is not None:
        said["annotator"] = about.annotator
    if location["start"] is not None and location["end"] is not None:
        said["bounds"] = [location["start"], location["end"]]
    made = Comment(document_id=document.pk, annotator_id=about.annotator, change_id=change_id, text=cleaned, **location)
    return _once(made, access, said)


def answer(*, access: Access, document: Document, thread: int, text: object, change_id: UUID | None = None) -> Comment:
    """Answer a thread. An answer to an answer belongs to the same thread. Raises Refused."""
    _check_writer(access)
    cleaned = _cleaned(text, LONGEST, "comment")
    comment = _seen(access, document, thread)
    made = Comment(document_id=document.pk, annotator_id=comment.annotator_id, change_id=change_id, text=cleaned)
    made.answers_id = comment.answers_id or comment.pk
    return _once(made, access, {"answers": made.answers_id})


def edit_comment(*, access: Access, document: Document, comment: int, text: object) -> Comment:
    """Edit one's own comment. Raises Refused."""
    _check_writer(access)
    cleaned = _cleaned(text, LONGEST, "comment")
    with transaction.atomic():
        row = _own(access, document, comment)
        if row.text == cleaned:
            return row
        if not row.text:
            raise ChangeRefused("deleted", _("This comment was deleted and can't be changed."), status=409)
        row.text, row.edited_at = cleaned, timezone.now()
        row.save(update_fields=["text", "edited_at"])
        _record(events.COMMENT_CHANGED, access, row, {})
    return row


def delete_comment(*, access: Access, document: Document, comment: int) -> int:
    """Delete one's own comment. A comment with answers only loses its text. Raises Refused.

    Returns the id of the thread, which may no longer exist.
    """
    _check_writer(access)
    with transaction.atomic():
        row = _own(access, document, comment)
        _record(events.COMMENT_DELETED, access, row, {})
        if row.answered_by.exists():
            row.text = ""
            row.save(update_fields=["text"])
            return row.answers_id or row.pk
        root, own = row.answers_id, row.pk
        row.delete()
        # A thread whose first comment was deleted goes with its last answer.
        if root is not None and not Comment.objects.filter(answers_id=root).exists():
            Comment.objects.filter(pk=root, text="").delete()
    return root or own


def resolve(*, access: Access, document: Document, thread: int, resolved: bool = True) -> Comment:
    """Resolve a thread, or reopen it. Raises Refused."""
    _check_writer(access)
    with transaction.atomic():
        row = _locked(access, document, thread)
        if row.answers_id is not None:
            raise ChangeRefused("answer", _("Only a whole thread can be resolved, not a single answer."))
        if (row.resolved_at is not None) == resolved:
            return row
        row.resolved_at = timezone.now() if resolved else None
        row.resolved_by = access.user if resolved else None
        row.save(update_fields=["resolved_at", "resolved_by"])
        _record(events.COMMENT_RESOLVED, access, row, {"resolved": resolved})
    return row


def annotator_of_set(access: Access, document: Document, annotation_set: int | None) -> int | None:
    """Return the user id of the annotator who wrote the set, for a comment about it.

    None for a set of another kind of author, and where the names of annotators are hidden from this person: the comment
    is then about the note itself.
    """
    if access.unnamed:
        return None
    shown = AnnotationSet.objects.filter(pk=annotation_set or 0, document_id=document.pk)
    return shown.filter(author__kind=AuthorKind.ANNOTATOR).values_list("author__user_id", flat=True).first()


def record_outcome_seen(*, access: Access, document: Document, shown: Iterable[CommentThread]) -> None:
    """Record that an annotator saw the outcome through adjudicators' comments, so later annotations are not blind."""
    if not access.blind or all(thread.mine for thread in shown) or has_seen_outcome(document.pk, access.user):
        return
    NOTE_READ.record(actor=access.user, note=document, data={"what": "outcome"})


def _check_writer(access: Access) -> None:
    if not may_comment(access):
        raise ChangeRefused("forbidden", _("You don't have permission to comment in this project."), status=403)


def _cleaned(text: object, most: int, what: str, *, blank: bool = False) -> str:
    try:
        return worded(text, most, what=what, blank=blank)
    except WordingError as error:
        raise ChangeRefused("text", _("Not saved. %(error)s") % {"error": error}) from None


def _location(document: Document, about: ThreadSubject) -> dict[str, int | None]:
    """Columns of the comment's location: the current bounds of the span, or those from the page if it was deleted."""
    if about.span is not None:
        found = _span(document, about)
        if found is not None:
            return {"span_id": found.pk, "start": found.start, "end": found.end}
    if about.start is None and about.end is None:
        if about.span is not None:
            raise ChangeRefused("span", _("This span no longer exists. Reload the page."), status=409)
        return {"span_id": None, "start": None, "end": None}
    if about.start is None or about.end is None or not 0 <= about.start < about.end <= document.length:
        message = _("The location of a comment must lie within the %(length)s characters of the note.")
        raise ChangeRefused("location", message % {"length": f"{document.length:,}"})
    return {"span_id": None, "start": about.start, "end": about.end}


def _span(document: Document, about: ThreadSubject) -> Span | None:
    """The span, if it belongs to the annotations that the comment is about."""
    spans = Span.objects.filter(pk=about.span or 0, annotation_set__document_id=document.pk)
    if about.annotator is not None:
        spans = spans.filter(
            annotation_set__author__user_id=about.annotator, annotation_set__author__kind=AuthorKind.ANNOTATOR
        )
    return spans.first()


def _once(made: Comment, access: Access, data: events.CommentDone) -> Comment:
    made.author_id = access.user.pk
    before = made.change_id and Comment.objects.filter(document_id=made.document_id, change_id=made.change_id).first()
    if not before:
        _check_number(made)
    try:
        with transaction.atomic():
            made.save()
            _record(events.COMMENT_ADDED, access, made, data | {"length": len(made.text)})
            return made
    except IntegrityError:
        before = Comment.objects.filter(document_id=made.document_id, change_id=made.change_id).first()
    if before is None or made.change_id is None:
        raise ChangeRefused("gone", _("The comment that you answered was deleted. Reload the page."), status=409)
    if before.author_id != made.author_id:
        message = _("This change ID was already used for another change. Reload the page.")
        raise ChangeRefused("change-id", message, status=409)
    return before


def _check_number(made: Comment) -> None:
    """Raise Refused if the person has too many comments on the note, or the thread too many answers."""
    of_person = Comment.objects.filter(document_id=made.document_id, author_id=made.author_id)
    if of_person.order_by().count() >= MOST_OF_A_PERSON:
        message = _(
            "Not saved: each person can have at most %(count)s comments on a note. Delete or edit one of yours."
        )
        raise ChangeRefused("many", message % {"count": MOST_OF_A_PERSON}, status=422)
    if made.answers_id and Comment.objects.filter(answers_id=made.answers_id).order_by().count() >= MOST_ANSWERS:
        message = _("Not saved: a thread can have at most %(count)s answers. Start a new thread.")
        raise ChangeRefused("many", message % {"count": MOST_ANSWERS}, status=422)


def _seen(access: Access, document: Document, pk: int) -> Comment:
    """A comment that the user may see. Raises Refused."""
    row = visible(access, document).filter(pk=pk).first()
    if row is None:
        raise ChangeRefused("gone", _("This comment does not exist or was deleted. Reload the page."), status=404)
    return row


def _locked(access: Access, document: Document, pk: int) -> Comment:
    return Comment.objects.select_for_update().get(pk=_seen(access, document, pk).pk)


def _own(access: Access, document: Document, pk: int) -> Comment:
    row = _locked(access, document, pk)
    if row.author_id != access.user.pk:
        raise ChangeRefused("author", _("Only the author of a comment can change or delete it."), status=403)
    return row


def _record(verb: Verb[events.CommentDone], access: Access, row: Comment, data: events.CommentDone) -> None:
    about = data | {"comment": row.pk}
    verb.record(actor=access.user, project_id=access.project.pk, document_id=row.document_id, data=about)


# Flag notes that need attention, and remove flags. Events never hold the text of a reason.


LONGEST_REASON = 500


def raise_flag(*, access: Access, document: Document, reason: object, text: object = "") -> Flag:
    """Flag a note, or change the reason of one's own open flag. The same reason changes nothing. Raises Refused."""
    if not access.can(Can.ANNOTATE):
        raise ChangeRefused("forbidden", _("You don't have permission to flag notes in this project."), status=403)
    kind, cleaned = _reason(reason), _cleaned(text, LONGEST_REASON, "reason", blank=True)
    if kind == Flag.Reason.OTHER and not cleaned:
        raise ChangeRefused("text", _("Not saved: describe the problem in a few words."))
    try:
        with transaction.atomic():
            return _raise(access, document, kind, cleaned)
    except IntegrityError:  # after a double click, the second call finds the flag of the first
        with transaction.atomic():
            return _raise(access, document, kind, cleaned)


def _raise(access: Access, document: Document, reason: Flag.Reason, text: str) -> Flag:
    mine = Flag.objects.select_for_update().filter(
        document_id=document.pk, user_id=access.user.pk, cleared_at__isnull=True
    )
    flag = mine.first()
    if flag is not None and (flag.reason, flag.text) == (reason, text):
        return flag
    if flag is None:
        flag = Flag.objects.create(document_id=document.pk, user=access.user, reason=reason, text=text)
    else:
        flag.reason, flag.text = reason, text
        flag.save(update_fields=["reason", "text"])
    _record_flag(events.NOTE_FLAGGED, access, flag)
    return flag


def clear_flag(*, access: Access, document: Document, flag: int) -> None:
    """Remove a flag. A removed flag stays removed. Raises Refused (404) if the user may not see the flag."""
    with transaction.atomic():
        row = Flag.objects.select_for_update().filter(pk=flag, document_id=document.pk).first()
        if row is None or (access.blind and row.user_id != access.user.pk):
            raise ChangeRefused("gone", _("This flag does not exist. Reload the page."), status=404)
        if not may_clear(access, row):
            message = _("Only a reviewer or the person who raised this flag can remove it.")
            raise ChangeRefused("author", message, status=403)
        if row.cleared_at is not None:
            return
        row.cleared_at, row.cleared_by = timezone.now(), access.user
        row.save(update_fields=["cleared_at", "cleared_by"])
        _record_flag(events.NOTE_UNFLAGGED, access, row)


def _reason(value: object) -> Flag.Reason:
    try:
        return Flag.Reason(str(value))
    except ValueError:
        message = _("The reason must be one of: %(choices)s.")
        raise ChangeRefused("reason", message % {"choices": ", ".join(Flag.Reason.values)}) from None


def _record_flag(verb: Verb[events.NoteFlagged], access: Access, flag: Flag) -> None:
    data: events.NoteFlagged = {"flag": flag.pk, "reason": flag.reason}
    verb.record(actor=access.user, project_id=access.project.pk, document_id=flag.document_id, data=data)
