"""The parts of a project's overview about releases."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from annotations import models
from annotations.core import overview
from annotations.core.access import Access, Can


@overview.needs.part(45, Can.RELEASE)
def undecided(access: Access) -> list[overview.Need]:
    """Prepared releases whose findings wait for a decision; withdrawn ones need none."""
    waiting = models.LeakFinding.objects.filter(
        note__release__project=access.project, note__release__state=models.ReleaseState.PREPARED, decision=""
    )
    counted = waiting.values_list("note__release__number").annotate(n=Count("pk")).order_by("note__release__number")
    sentences = ngettext_lazy(
        "%(n)d finding of the leak gate in release %(number)d waits for a decision.",
        "%(n)d findings of the leak gate in release %(number)d wait for a decision.",
        "n",
    )
    return _needs(access, counted[:3], sentences, "release_findings", _("Decide findings"))


def _needs(
    access: Access, counted: Iterable[tuple[int, int]], sentences: Any, page: str, action: str
) -> list[overview.Need]:
    """A sentence for each release, given by its number, about so many things that wait on the page."""
    return [
        overview.Need(sentences % {"n": n, "number": number}, access.url(page, number), action) for number, n in counted
    ]


@overview.stages.part(60, Can.RELEASE)
def release_stage(access: Access) -> list[overview.Stage]:
    """The number of releases, once there is a frozen version or a release."""
    newest = models.Release.objects.filter(project=access.project).order_by("-number").first()
    if newest is None:
        if not models.GoldVersion.objects.filter(project=access.project).exists():
            return []
        return [overview.Stage(_("Released"), "–", access.url("release_new"), _("no release yet"))]
    value = _("no. %(number)d") % {"number": newest.number}
    return [overview.Stage(_("Released"), value, access.url("release", newest.number), str(newest.get_state_display()))]


@overview.steps.part(120, Can.RELEASE)
def steps(access: Access) -> list[overview.Step]:
    made = models.Release.objects.filter(project=access.project).exclude(state=models.ReleaseState.WITHDRAWN)
    newest = made.order_by("number").last()
    title, text = _("Release de-identified text"), _("Choose a policy, decide what may leak, and sign.")
    if newest is None:
        url = access.url("release_new")
        return [overview.Step(title, text, url, _("Release text"), done=False)]
    url = access.url("release", newest.number)
    done = newest.state == models.ReleaseState.SIGNED
    return [overview.Step(title, text, url, _("Go on with release %(n)d") % {"n": newest.number}, done)]


@overview.needs.part(46, Can.AUDIT_RELEASES)
def to_read(access: Access) -> list[overview.Need]:
    """The open audits of prepared releases with notes that nobody has read."""
    plans = models.AuditPlan.objects.filter(
        release__project=access.project, state=models.AuditPlanState.OPEN, release__state=models.ReleaseState.PREPARED
    )
    left = Count("notes", filter=~Q(notes__state=models.AuditNoteState.DONE))
    rows = plans.order_by("release__number").annotate(left=left).filter(left__gt=0)
    sentences = ngettext_lazy(
        "%(n)d note of release %(number)d is left to read in its audit.",
        "%(n)d notes of release %(number)d are left to read in its audit.",
        "n",
    )
    counted = rows.values_list("release__number", "left")[:3]
    return _needs(access, counted, sentences, "release_audit", _("Read released notes"))
