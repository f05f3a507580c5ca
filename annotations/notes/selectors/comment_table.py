"""All comments of a project as CSV."""

from collections.abc import Callable, Iterator
from itertools import groupby

from annotations.core.access import Access
from annotations.core.authors import user_namer
from annotations.formats.files.csv_lines import csv_line
from annotations.models import Comment, Project, User
from annotations.notes.selectors.comments import current_bounds

COLUMNS = (
    "note", "thread", "comment", "start", "end", "annotations_of", "author", "written_at", "edited_at", "resolved_by",
    "resolved_at", "text",
)  # fmt: skip


def comment_lines(project: Project, access: Access | None = None) -> Iterator[str]:
    """CSV by RFC 4180 with a header row, by note, then by thread, the question before its answers.

    `start` and `end` are those of the commented span now, or its last ones if it was deleted; code points,
    end-exclusive. A deleted comment has no text. `access`: whoever reads the table, if names may be hidden from them.
    """
    yield csv_line(COLUMNS)
    rows = Comment.objects.filter(document__project=project).order_by("document_id", "id")
    related = rows.select_related("document", "author", "annotator", "resolved_by").defer("document__text")
    for document, group in groupby(related.iterator(chunk_size=500), key=lambda comment: comment.document_id):
        comments = list(group)
        bounds = current_bounds(comments)
        called = user_namer(access, document) if access is not None else User.get_username
        for comment in sorted(comments, key=lambda each: (each.answers_id or each.pk, each.pk)):
            yield _line(comment, bounds, called)


def _line(comment: Comment, bounds: dict[int, tuple[int, int]], called: Callable[[User], str]) -> str:
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
