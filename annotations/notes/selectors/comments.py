"""The threads of a note that a person may see: readings stay blind to each other in what is said about them, too."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from django.db.models import Q, QuerySet
from django.utils.text import Truncator

from annotations.core.access import Access, Can
from annotations.core.naming import callers
from annotations.models import AnnotationSet, Author, Comment, Document, Span, User
from annotations.notes.selectors.readings import line_at

# Characters of a quote that a page without a script spells out.
QUOTE = 80
# Threads that come at a time.
PAGE = 30
Place = tuple[int, int]


class CommentItem(TypedDict):
    """One comment as pages get it. A text that its author took back is empty, and `deleted` says so."""

    id: int
    author: str
    own: bool
    text: str
    deleted: bool
    edited: bool
    at: str


class ThreadItem(CommentItem):
    """A comment with its answers. Its place in code points, end-exclusive, or none: then it is about the note.

    `span` is the id of the span it hangs on. Where that still is, the place is the span's present one; `gone`: it is no
    more, and the place is where it was. `reading`: whose reading it is about, for those who see several; `mine`: one's
    own.
    """

    span: int | None
    start: int | None
    end: int | None
    gone: bool
    reading: str
    mine: bool
    settled: str
    answers: list[CommentItem]


def visible(access: Access, document: Document) -> QuerySet[Comment]:
    """The comments of a note that this person may read (and, where they may annotate, answer)."""
    comments = Comment.objects.filter(document_id=document.pk)
    if access.can(Can.READ_NOTES):
        return comments
    own = Q(reader_id=access.user.pk)
    return comments.filter(own | Q(reader__isnull=True) if _told(access, document) else own)


def _told(access: Access, document: Document) -> bool:
    """Whether this annotator may know what was decided on the note: it is adjudicated, and their own reading is in."""
    if not access.project.show_outcome:
        return False
    submitted = AnnotationSet.objects.filter(document_id=document.pk, state=AnnotationSet.State.SUBMITTED)
    own = submitted.filter(author__kind=Author.Kind.ANNOTATOR, author__user_id=access.user.pk)
    return own.exists() and submitted.filter(author__kind=Author.Kind.ADJUDICATED).exists()


def may_comment(access: Access) -> bool:
    """Those who work on notes; a viewer only reads."""
    return access.can(Can.ANNOTATE)


@dataclass(frozen=True)
class Page:
    """The newest threads; `earlier` is what to ask for those before them, None where there are none."""

    threads: list[ThreadItem]
    earlier: int | None


def page_of(access: Access, document: Document, *, own: bool = False, before: int | None = None) -> Page:
    """The newest PAGE threads, or those before an earlier page's. `own`: none about somebody else's reading."""
    roots = _roots(access, document, own).order_by("-id")
    if before is not None:
        roots = roots.filter(pk__lt=before)
    found = list(roots.values_list("pk", flat=True)[: PAGE + 1])
    shown = found[:PAGE]
    return Page(_threads(access, document, shown), shown[-1] if len(found) > PAGE else None)


def thread_of(access: Access, document: Document, root: int) -> ThreadItem | None:
    """One thread as it is now; None where it is gone."""
    found = _threads(access, document, [root])
    return found[0] if found else None


def threads(access: Access, document: Document) -> list[ThreadItem]:
    """All threads of the note that this person may see."""
    return _threads(access, document, list(_roots(access, document, False).values_list("pk", flat=True)))


def _roots(access: Access, document: Document, own: bool) -> QuerySet[Comment]:
    rows = visible(access, document).filter(answers__isnull=True)
    return rows.filter(Q(reader_id=access.user.pk) | Q(reader__isnull=True)) if own else rows


def _threads(access: Access, document: Document, roots: Sequence[int]) -> list[ThreadItem]:
    """These threads in the order of the text, those about the note first."""
    rows = visible(access, document).select_related("author", "reader", "resolved_by")
    comments = list(rows.filter(Q(pk__in=roots) | Q(answers__in=roots)).order_by("id"))
    places = _present_places(comments)
    answers: dict[int, list[CommentItem]] = defaultdict(list)
    called = callers(access, document.pk)
    for comment in comments:
        if comment.answers_id is not None:
            answers[comment.answers_id].append(_item(access, comment, called))
    found = [
        _thread(access, comment, places.get(comment.span_id or 0), answers[comment.pk], called)
        for comment in comments
        if comment.answers_id is None
    ]
    return sorted(found, key=lambda thread: (-1 if thread["start"] is None else thread["start"], thread["id"]))


def _present_places(comments: Iterable[Comment]) -> dict[int, Place]:
    """Where the spans that comments hang on are now."""
    ids = {comment.span_id for comment in comments if comment.span_id is not None}
    rows = Span.objects.filter(pk__in=ids).order_by().values_list("pk", "start", "end") if ids else []
    return {pk: (start, end) for pk, start, end in rows}


def _thread(
    access: Access, comment: Comment, now: Place | None, answers: list[CommentItem], called: Callable[[User], str]
) -> ThreadItem:
    start, end = now or (comment.start, comment.end)
    whose = comment.reader if access.can(Can.READ_NOTES) else None
    return ThreadItem(
        **_item(access, comment, called),
        span=comment.span_id,
        start=start,
        end=end,
        gone=comment.span_id is not None and now is None,
        reading=called(whose) if whose else "",
        mine=comment.reader_id == access.user.pk,
        settled=called(comment.resolved_by) if comment.resolved_by else "",
        answers=answers,
    )


def _item(access: Access, comment: Comment, called: Callable[[User], str]) -> CommentItem:
    return CommentItem(
        id=comment.pk,
        author=called(comment.author),
        own=comment.author_id == access.user.pk,
        text=comment.text,
        deleted=not comment.text,
        edited=comment.edited_at is not None and bool(comment.text),
        at=_moment(comment.created_at),
    )


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


@dataclass(frozen=True)
class Said:
    """An answer with its moment as one."""

    comment: CommentItem
    at: datetime


@dataclass(frozen=True)
class PlacedThread:
    """A thread beside the text: the line that it begins in (0: it is about the note), the words, the moments."""

    thread: ThreadItem
    line: int
    quote: str
    at: datetime
    answers: list[Said]


def placed(text: str, found: Iterable[ThreadItem]) -> list[PlacedThread]:
    """Threads as a page without a script shows them; `text` is the note's."""
    return [
        PlacedThread(
            thread=thread,
            line=0 if thread["start"] is None else line_at(text, thread["start"]),
            quote="" if thread["start"] is None else Truncator(text[thread["start"] : thread["end"]]).chars(QUOTE),
            at=datetime.fromisoformat(thread["at"]),
            answers=[Said(answer, datetime.fromisoformat(answer["at"])) for answer in thread["answers"]],
        )
        for thread in found
    ]
