"""The parts of a project's overview about releases."""

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

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
    return [
        overview.Need(
            ngettext(
                "%(n)d finding of the leak gate in release %(number)d waits for a decision.",
                "%(n)d findings of the leak gate in release %(number)d wait for a decision.",
                n,
            )
            % {"n": n, "number": number},
            reverse("release_findings", args=[access.project.slug, number]),
            _("Decide findings"),
        )
        for number, n in counted[:3]
    ]


@overview.stages.part(60, Can.RELEASE)
def release_stage(access: Access) -> list[overview.Stage]:
    """The number of releases, once there is a frozen version or a release."""
    slug = access.project.slug
    newest = models.Release.objects.filter(project=access.project).order_by("-number").first()
    if newest is None:
        if not models.GoldVersion.objects.filter(project=access.project).exists():
            return []
        return [overview.Stage(_("Released"), "–", reverse("release_new", args=[slug]), _("no release yet"))]
    url = reverse("release", args=[slug, newest.number])
    value = _("no. %(number)d") % {"number": newest.number}
    return [overview.Stage(_("Released"), value, url, str(newest.get_state_display()))]


@overview.steps.part(120, Can.RELEASE)
def steps(access: Access) -> list[overview.Step]:
    made = models.Release.objects.filter(project=access.project).exclude(state=models.ReleaseState.WITHDRAWN).exists()
    text = _("Choose a policy, check for leaks, and export text without identifiers.")
    url = reverse("releases", args=[access.project.slug])
    return [overview.Step(_("Release de-identified text"), text, url, _("Release text"), made)]


@overview.needs.part(46, Can.AUDIT_RELEASES)
def to_read(access: Access) -> list[overview.Need]:
    """The open audits of prepared releases with notes that nobody has read."""
    plans = models.AuditPlan.objects.filter(
        release__project=access.project, state=models.AuditPlanState.OPEN, release__state=models.ReleaseState.PREPARED
    )
    rows = plans.order_by("release__number").annotate(
        left=Count("notes", filter=~Q(notes__state=models.AuditNoteState.DONE))
    )
    return [
        overview.Need(
            ngettext(
                "%(n)d note of release %(number)d is left to read in its audit.",
                "%(n)d notes of release %(number)d are left to read in its audit.",
                left,
            )
            % {"n": left, "number": number},
            reverse("release_audit", args=[access.project.slug, number]),
            _("Read released notes"),
        )
        for number, left in rows.filter(left__gt=0).values_list("release__number", "left")[:3]
    ]
