"""The parts of a project's overview about annotating: a person's own notes, replies, and the pilot."""

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.annotate.selectors.progress import shared_notes, submitted_sets
from annotations.annotate.selectors.replies import replies
from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Document
from annotations.projects.selectors.projects import own_work

# The pilot: so many notes by two annotators, before the others are annotated.
PILOT = 10
REPLIES = 5


@overview.own.part(10, Can.ANNOTATE)
def own_notes(access: Access) -> list[overview.Card]:
    work = own_work(access)
    return [overview.Card("annotate/overview_own.html", work)] if work.total.n or access.blind else []


@overview.own.part(20, Can.ANNOTATE)
def own_replies(access: Access) -> list[overview.Card]:
    found = replies(access, REPLIES)
    return [overview.Card("annotate/overview_replies.html", found)] if found else []


@overview.stages.part(20, Can.READ_NOTES)
def annotated(access: Access) -> list[overview.Stage]:
    n = submitted_sets(access.project).aggregate(n=Count("document_id", distinct=True))["n"]
    return [overview.Stage(_("Annotated"), f"{n:,}", reverse("notes", args=[access.project.slug]))]


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
    url = reverse("notes", args=[access.project.slug])
    title = ngettext("Annotate a pilot of %(n)d note", "Annotate a pilot of %(n)d notes", wanted) % {"n": wanted}
    return [overview.Step(title, text, url, _("Show notes"), 0 < notes <= shared)]
