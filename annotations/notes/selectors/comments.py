"""Threads of a note that a user may see. Annotators don't see threads about others' annotations."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain, groupby

from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils.text import Truncator
from django.utils.translation import ngettext

from annotations import models
from annotations.core.access import Access, Can
from annotations.core.authors import user_namer
from annotations.core.bulk import in_batches
from annotations.core.navigation import MOST
from annotations.core.services import FILE_DOWNLOADED, NOTE_READ
from annotations.formats.files.csv_files import csv_line
from annotations.models.prepared import PreparedRead
from annotations.notes.selectors.in_context import line_at
from annotations.text.names import MAX_ID

# Characters of a quote on a page without a script.
QUOTE = 80
# Threads per page.
PAGE = 30
Bounds = tuple[int, int]


@dataclass(frozen=True)
class CommentItem:
    """A comment. `own`: the person wrote it. A deleted comment with answers has no text."""

    id: int
    author: str
    own: bool
    text: str
    deleted: bool
    edited: bool
    at: datetime


@dataclass(frozen=True)
class CommentThread(CommentItem):
    """A comment with its answers.

    Without `start` and `end` (code points, end-exclusive) it is about the whole note. `span` is the commented span;
    `gone`: it was deleted, and these are its last bounds. `annotation_set` names the annotator whose annotations the
    thread is about, for people who see those of several; `mine`: it is about one's own. `resolved` names who resolved
    the thread.
    """

    span: int | None
    start: int | None
    end: int | None
    gone: bool
    annotation_set: str
    mine: bool
    resolved: str
    answers: list[CommentItem]


def visible(access: Access, document: models.Document) -> QuerySet[models.Comment]:
    """Comments of a note that the user may read and, with the right to annotate, answer."""
    comments = models.Comment.objects.filter(document_id=document.pk)
    if access.can(Can.READ_NOTES):
        return comments
    own = Q(annotator_id=access.user.pk)
    return comments.filter(own | Q(annotator__isnull=True) if _sees_outcome(access, document) else own)


def _sees_outcome(access: Access, document: models.Document) -> bool:
    """Whether this annotator may see the outcome: the note is adjudicated, and their annotations are submitted."""
    if not access.project.show_outcome:
        return False
    submitted = models.AnnotationSet.objects.filter(document_id=document.pk, state=models.AnnotationSetState.SUBMITTED)
    own = submitted.filter(author__kind=models.AuthorKind.ANNOTATOR, author__user_id=access.user.pk)
    return own.exists() and submitted.filter(author__kind=models.AuthorKind.ADJUDICATED).exists()


def may_comment(access: Access) -> bool:
    """Whether the user may comment: everyone except viewers."""
    return access.can(Can.ANNOTATE)


@dataclass(frozen=True)
class ThreadPage:
    """A page of threads. `earlier` is the id to request earlier threads with; None if there are none."""

    threads: list[CommentThread]
    earlier: int | None


def page_of(
    access: Access, document: models.Document, *, own: bool = False, before: int | None = None, size: int = PAGE
) -> ThreadPage:
    """The newest threads, or those before the id `before`. `own` leaves out threads about others' annotations."""
    roots = _roots(access, document, own).order_by("-id")
    if before is not None:
        roots = roots.filter(pk__lt=before)
    found = list(roots.values_list("pk", flat=True)[: size + 1])
    shown = found[:size]
    return ThreadPage(_threads(access, document, shown), shown[-1] if len(found) > size else None)


def thread_of(access: Access, document: models.Document, root: int) -> CommentThread | None:
    """The current state of a thread; None if it was deleted."""
    found = _threads(access, document, [root])
    return found[0] if found else None


def threads(access: Access, document: models.Document) -> list[CommentThread]:
    """All threads of the note that the user may see."""
    return _threads(access, document, list(_roots(access, document, False).values_list("pk", flat=True)))


def _roots(access: Access, document: models.Document, own: bool) -> QuerySet[models.Comment]:
    rows = visible(access, document).filter(answers__isnull=True)
    return rows.filter(Q(annotator_id=access.user.pk) | Q(annotator__isnull=True)) if own else rows


def _threads(access: Access, document: models.Document, roots: Sequence[int]) -> list[CommentThread]:
    """Threads with these ids in text order, threads about the whole note first."""
    rows = visible(access, document).select_related("author", "annotator", "resolved_by")
    comments = list(rows.filter(Q(pk__in=roots) | Q(answers__in=roots)).order_by("id"))
    bounds = current_bounds(comments)
    answers: dict[int, list[CommentItem]] = defaultdict(list)
    called = user_namer(access, document.pk)
    for comment in comments:
        if comment.answers_id is not None:
            answers[comment.answers_id].append(_item(access, comment, called))
    found = [
        _thread(access, comment, bounds.get(comment.span_id or 0), answers[comment.pk], called)
        for comment in comments
        if comment.answers_id is None
    ]
    return sorted(found, key=lambda thread: (-1 if thread.start is None else thread.start, thread.id))


def current_bounds(comments: Iterable[models.Comment]) -> dict[int, Bounds]:
    """Current bounds of the commented spans, by span id."""
    ids = {comment.span_id for comment in comments if comment.span_id is not None}
    rows = models.Span.objects.filter(pk__in=ids).order_by().values_list("pk", "start", "end") if ids else []
    return {pk: (start, end) for pk, start, end in rows}


def _thread(
    access: Access,
    comment: models.Comment,
    now: Bounds | None,
    answers: list[CommentItem],
    called: Callable[[models.User], str],
) -> CommentThread:
    start, end = now or (comment.start, comment.end)
    whose = comment.annotator if access.can(Can.READ_NOTES) else None
    return CommentThread(
        **asdict(_item(access, comment, called)),
        span=comment.span_id,
        start=start,
        end=end,
        gone=comment.span_id is not None and now is None,
        annotation_set=called(whose) if whose else "",
        mine=comment.annotator_id == access.user.pk,
        resolved=called(comment.resolved_by) if comment.resolved_by else "",
        answers=answers,
    )


def _item(access: Access, comment: models.Comment, called: Callable[[models.User], str]) -> CommentItem:
    return CommentItem(
        id=comment.pk,
        author=called(comment.author),
        own=comment.author_id == access.user.pk,
        text=comment.text,
        deleted=not comment.text,
        edited=comment.edited_at is not None and bool(comment.text),
        at=comment.created_at.replace(microsecond=0),
    )


@dataclass(frozen=True)
class PlacedThread:
    """A thread beside the text, with its line (0 for the whole note) and quote."""

    thread: CommentThread
    line: int
    quote: str


def placed(text: str, found: Iterable[CommentThread]) -> list[PlacedThread]:
    """Threads for a page without a script. `text` is the text of the note."""
    return [
        PlacedThread(thread, 0, "")
        if thread.start is None
        else PlacedThread(thread, line_at(text, thread.start), Truncator(text[thread.start : thread.end]).chars(QUOTE))
        for thread in found
    ]


# All comments of a project as CSV.


COLUMNS = (
    "note", "thread", "comment", "start", "end", "annotations_of", "author", "written_at", "edited_at", "resolved_by",
    "resolved_at", "text",
)  # fmt: skip


# Notes whose comments are read at once.
BATCH = 100


def comments_csv(access: Access) -> StreamingHttpResponse:
    """Send all comments of the project as CSV, and record that they were downloaded."""
    # Imported here: what answers pages takes a sixth of the start of a command.
    from annotations.core.answers import csv_answer

    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"comments": "csv"})
    return csv_answer(_lines(access), f"{access.project.slug}-comments.csv")


def _lines(access: Access) -> Iterator[str]:
    """CSV by RFC 4180 with a header row, by note, then by thread, the question before its answers.

    `start` and `end` are those of the commented span now, or its last ones if it was deleted; code points,
    end-exclusive. A deleted comment has no text.
    """
    yield csv_line(COLUMNS)
    rows = models.Comment.objects.filter(document__project=access.project).order_by("document_id", "id")
    related = rows.select_related("document", "author", "annotator", "resolved_by").defer("document__text")
    notes = models.Document.objects.filter(pk__in=rows.order_by().values("document_id"))
    found = (related.filter(document__in=[pk for (pk,) in some]) for some in in_batches(notes.values_list("pk"), BATCH))
    for document, group in groupby(chain.from_iterable(found), key=lambda comment: comment.document_id):
        comments = list(group)
        bounds = current_bounds(comments)
        called = user_namer(access, document)
        for comment in sorted(comments, key=lambda each: (each.answers_id or each.pk, each.pk)):
            yield _line(comment, bounds, called)


def _line(comment: models.Comment, bounds: dict[int, tuple[int, int]], called: Callable[[models.User], str]) -> str:
    start, end = bounds.get(comment.span_id or 0, (comment.start, comment.end))
    return csv_line(
        [
            comment.document.name,
            comment.answers_id or comment.pk,
            comment.pk,
            start,
            end,
            called(comment.annotator) if comment.annotator else None,
            called(comment.author),
            comment.created_at.isoformat(timespec="seconds"),
            comment.edited_at.isoformat(timespec="seconds") if comment.edited_at else None,
            called(comment.resolved_by) if comment.resolved_by else None,
            comment.resolved_at.isoformat(timespec="seconds") if comment.resolved_at else None,
            comment.text,
        ]
    )


# What annotators may see of a note after its adjudication.


def adjudicated_set(document_id: int) -> models.AnnotationSet | None:
    return models.AnnotationSet.objects.filter(
        document_id=document_id, author__kind=models.AuthorKind.ADJUDICATED
    ).first()


def outcome_set(project: models.Project, document_id: int) -> models.AnnotationSet | None:
    """The adjudicated set, if annotators may see it: after adjudication, unless the project hides it."""
    if not project.show_outcome:
        return None
    found = adjudicated_set(document_id)
    return found if found and found.state == models.AnnotationSetState.SUBMITTED else None


def has_seen_outcome(document_id: int, user: models.User) -> bool:
    """Whether the user has opened the outcome of the note. Annotations that they submit later are not blind."""
    return models.Event.objects.filter(
        document_id=document_id, actor=user, verb=NOTE_READ, data__what="outcome"
    ).exists()


# Open flags of notes: all flags for members who may see all notes, else one's own.


@dataclass(frozen=True)
class OpenFlag:
    """An open flag. `why` is the reason in words."""

    id: int
    reason: str
    why: str
    text: str
    by: str
    own: bool
    at: datetime


def open_flags(access: Access) -> QuerySet[models.Flag]:
    """Open flags of the project that the user may see. Annotators see only their own."""
    flags = _open_flags(access.project.pk)
    return flags if access.can(Can.READ_NOTES) else flags.filter(user_id=access.user.pk)


def _open_flags(project: int) -> QuerySet[models.Flag]:
    return models.Flag.objects.filter(document__project_id=project, cleared_at__isnull=True)


def _notes_with(flags: QuerySet[models.Flag]) -> "QuerySet[models.Flag, tuple[int]]":
    return flags.order_by().values_list("document_id").distinct()[: MOST + 1]


# The header counts on every page; Django would take longer to write this query than the database to answer it.
_FLAGGED = PreparedRead(lambda project: _notes_with(_open_flags(project)), int)
_MINE = {"document__assignments__state__in": [models.AssignmentState.OPEN, models.AssignmentState.DONE]}
_OWN_FLAGGED = PreparedRead(
    lambda project, user: _notes_with(
        _open_flags(project).filter(user_id=user, document__assignments__user_id=user, **_MINE)
    ),
    *(int, int),
)


def notes_flagged(access: Access) -> int:
    """Count the flagged notes that this person sees in the list, up to one more than the header shows."""
    if not access.blind:
        return len(_FLAGGED.all(access.project.pk))
    return len(_OWN_FLAGGED.all(access.project.pk, access.user.pk))


def may_clear(access: Access, flag: models.Flag) -> bool:
    """Whether the user may remove the flag: its author and reviewers may."""
    return flag.user_id == access.user.pk or (access.can(Can.READ_NOTES) and access.can(Can.ANNOTATE))


def flags_of(access: Access, document: models.Document) -> list[OpenFlag]:
    """Open flags of one note, one's own first."""
    rows = open_flags(access).filter(document_id=document.pk).select_related("user").order_by("id")
    called = user_namer(access, document.pk)
    found = [
        OpenFlag(
            id=flag.pk,
            reason=flag.reason,
            why=str(models.Flag.Reason(flag.reason).label),
            text=flag.text,
            by=called(flag.user),
            own=flag.user_id == access.user.pk,
            at=flag.raised_at.replace(microsecond=0),
        )
        for flag in rows
    ]
    return sorted(found, key=lambda flag: not flag.own)


def flaggers(access: Access) -> tuple[int, int]:
    """Smallest and largest id of the users whose flags the user may see, as parameters of prepared statements."""
    return (0, MAX_ID) if access.can(Can.READ_NOTES) else (access.user.pk, access.user.pk)


def flag_labels(access: Access, rows: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    """For each flagged note, the reason or the number of people who flagged it, as far as the user may know."""
    reasons: dict[int, list[str]] = defaultdict(list)
    for note, user, reason in rows:
        if not access.blind or user == access.user.pk:
            reasons[note].append(reason)
    return {note: _label(found) for note, found in reasons.items()}


def _label(reasons: list[str]) -> str:
    if len(set(reasons)) == 1:
        label = str(models.Flag.Reason(reasons[0]).label)
        return label if len(reasons) == 1 else f"{label} (×{len(reasons)})"
    return ngettext("%(n)d person", "%(n)d people", len(reasons)) % {"n": len(reasons)}
