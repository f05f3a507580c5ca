"""Comments by others that wait for an annotator's answer."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, Max, OuterRef
from django.db.models.functions import Coalesce

from annotations.core.access import Access
from annotations.models import Assignment, Comment


@dataclass(frozen=True)
class Replies:
    """A note with comments by others about this person's annotations, later than this person's last answer there."""

    note: int
    name: str
    count: int
    last: datetime


def replies(access: Access, most: int) -> list[Replies]:
    """List at most `most` of the person's notes with unanswered comments in unresolved threads, the newest first.

    Comments about others' annotations are never counted, so an annotator learns nothing about them.
    """
    user = access.user.pk
    mine = Assignment.objects.filter(
        project_id=access.project.pk, user_id=user, state__in=[Assignment.State.OPEN, Assignment.State.DONE]
    )
    answered = Comment.objects.filter(author_id=user, pk__gt=OuterRef("pk"), answers=OuterRef("root"))
    resolved = Comment.objects.filter(pk=OuterRef("root"), resolved_at__isnull=False)
    rows = (
        Comment.objects.filter(document__in=mine.values("document_id"), annotator_id=user)
        .exclude(author_id=user)
        .exclude(text="")
        .annotate(root=Coalesce("answers_id", "pk"))
        .filter(~Exists(answered), ~Exists(resolved))
        .order_by()
        .values_list("document_id", "document__name")
        .annotate(count=Count("pk"), last=Max("created_at"))
        .order_by("-last", "document_id")
    )
    return [Replies(*row) for row in rows[:most]]
