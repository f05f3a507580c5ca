"""The parts of a project's overview about annotating: a person's own notes, replies, and the pilot."""

from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.annotate.selectors.worklist import shared_notes, submitted_sets
from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Assignment, AssignmentState, Comment, Document
from annotations.projects.selectors.projects import own_work

# Comments by others that wait for an annotator's answer.


def replies(access: Access, most: int) -> list[dict[str, Any]]:
    """List at most `most` of the person's notes with unanswered comments in unresolved threads, the newest first.

    Each row has the note's id and `name`, the `count` of comments by others about this person's annotations, later than
    this person's last answer there, and the time of the `last` one. Comments about others' annotations are never
    counted, so an annotator learns nothing about them.
    """
    user, states = access.user.pk, [AssignmentState.OPEN, AssignmentState.DONE]
    mine = Assignment.objects.filter(project_id=access.project.pk, user_id=user, state__in=states)
    answered = Comment.objects.filter(author_id=user, pk__gt=OuterRef("pk"), answers=OuterRef("root"))
    resolved = Comment.objects.filter(pk=OuterRef("root"), resolved_at__isnull=False)
    rows: Any = (
        Comment.objects.filter(document__in=mine.values("document_id"), annotator_id=user)
        .exclude(author_id=user)
        .exclude(text="")
        .annotate(root=Coalesce("answers_id", "pk"))
        .filter(~Exists(answered), ~Exists(resolved))
        .order_by()
        .values(note=F("document_id"), name=F("document__name"))
        .annotate(count=Count("pk"), last=Max("created_at"))
        .order_by("-last", "note")
    )
    return list(rows[:most])


# The pilot: so many notes by two annotators, before the others are annotated.
PILOT = 10
REPLIES = 5


@overview.own.part(10, Can.ANNOTATE)
def own_notes(access: Access) -> list[overview.OverviewCard]:
    work = own_work(access)
    return [overview.OverviewCard("annotate/overview_own.html", work)] if work.total.n or access.blind else []


@overview.own.part(20, Can.ANNOTATE)
def own_replies(access: Access) -> list[overview.OverviewCard]:
    found = replies(access, REPLIES)
    return [overview.OverviewCard("annotate/overview_replies.html", found)] if found else []


@overview.stages.part(20, Can.READ_NOTES)
def annotated(access: Access) -> list[overview.Stage]:
    n = submitted_sets(access.project).aggregate(n=Count("document_id", distinct=True))["n"]
    return [overview.Stage(_("Annotated"), f"{n:,}", reverse("notes", args=[access.slug]))]


@overview.steps.part(40, Can.MANAGE)
def pilot(access: Access) -> list[overview.Step]:
    notes = Document.objects.filter(project=access.project).order_by("pk").values_list("pk")[:PILOT].count()
    shared = shared_notes(access.project)[:PILOT].count()
    wanted = notes or PILOT
    text = ngettext(
        "Let two annotators submit the same %(n)d note before all others.",
        "Let two annotators submit the same %(n)d notes before all others.",
        wanted,
    ) % {"n": wanted}
    url = reverse("notes", args=[access.slug])
    title = ngettext("Annotate a pilot of %(n)d note", "Annotate a pilot of %(n)d notes", wanted) % {"n": wanted}
    return [overview.Step(title, text, url, _("Show notes"), 0 < notes <= shared)]
