"""The parts of a project's overview about its notes and their flags."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.notes.selectors.comments import open_flags
from annotations.notes.selectors.notes import Show
from annotations.projects.selectors.projects import counts


@overview.needs.part(20, Can.MAKE_GOLD)
def flagged(access: Access) -> list[overview.Need]:
    n = open_flags(access).order_by().values("document_id").distinct().count()
    if not n:
        return []
    text = ngettext("%(n)d note is flagged.", "%(n)d notes are flagged.", n) % {"n": n}
    return [overview.Need(text, f"{access.url('notes')}?state={Show.FLAGGED}", _("Show flagged notes"))]


@overview.stages.part(10, Can.READ_NOTES)
def imported(access: Access) -> list[overview.Stage]:
    n = access.once(counts).notes
    return [overview.Stage(_("Imported"), f"{n:,}", access.url("notes"), notes=n)]
