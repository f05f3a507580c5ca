"""The parts of a project's overview about annotating: a person's own notes, replies, and the pilot."""

from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.annotate.selectors.worklist import shared_notes, submitted_notes
from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Assignment, AssignmentState, Comment, Document
from annotations.projects.selectors.projects import own_work
from annotations.projects.services.assigning import PILOT

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
    n = submitted_notes(access.project)
    return [overview.Stage(_("Annotated"), f"{n:,}", access.url("notes"), notes=n)]


@overview.steps.part(40, Can.MANAGE)
def pilot(access: Access) -> list[overview.Step]:
    """The pilot: the same few notes by all annotators. Who works alone annotates all notes."""
    project, page = access.project, access.url("notes")
    if project.is_alone:
        work = own_work(access)
        text = _("You annotate alone. %(done)s done, %(todo)s to do.") % {
            "done": work.done.text,
            "todo": work.todo.text,
        }
        url, done = access.url("next_note"), bool(work.total.n) and not work.todo.n
        return [overview.Step(_("Annotate your notes"), text, url, _("Annotate"), done)]
    notes = Document.objects.filter(project=project).order_by("pk").values_list("pk")[:PILOT].count()
    wanted = notes or PILOT
    title = ngettext("Annotate a pilot of %(n)d note", "Annotate a pilot of %(n)d notes", wanted) % {"n": wanted}
    if offers_pilot(access):
        text = _("All annotators get the same notes, drawn at random. Then compare them.")
        action = ngettext("Start a pilot of %(n)d note", "Start a pilot of %(n)d notes", wanted) % {"n": wanted}
        return [overview.Step(title, text, page, action, done=False, do="pilot")]
    shared = shared_notes(project)[:PILOT].count()
    text = _("Annotators are at work: %(n)d of %(wanted)d notes are submitted by two annotators.")
    return [overview.Step(title, text % {"n": shared, "wanted": wanted}, page, _("Show notes"), 0 < notes <= shared)]


def offers_pilot(access: Access) -> bool:
    """Whether the pilot can begin. The search over places asks this, so no notes are counted."""
    project = access.project
    if project.is_alone or project.distribution != project.Distribution.LIST:
        return False
    assigned = Assignment.objects.filter(project=project).exists()
    return not assigned and not shared_notes(project)[:1].exists()


@overview.steps.part(65, Can.MANAGE)
def all_notes(access: Access) -> list[overview.Step]:
    """After the pilot, the other notes. Who assigns by hand decides note by note."""
    if access.project.distribution != access.project.Distribution.LIST:
        return []
    left = Document.objects.filter(project=access.project).exclude(assignments__isnull=False)
    text = _("Every annotator gets all notes. For another rule, see the settings.")
    return [
        overview.Step(
            _("Assign the other notes"), text, access.url("project_settings"),
            _("Assign all notes"), done=not left.order_by("pk")[:1].exists(), do="all",
        )
    ]  # fmt: skip
