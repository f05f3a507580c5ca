"""Audits on the overview of a project, and as a step on the page of a release."""

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import AuditNote, AuditPlan, Release
from annotations.release.selectors.about import MORE_STEPS, Step
from annotations.release.selectors.audits.plans import waiting_for
from annotations.release.selectors.audits.results import audit_result
from annotations.release.templatetags.audits import bound_in_words, whole

POSITION = 10


def register() -> None:
    overview.needs.register(46, Can.AUDIT_RELEASES, to_read)
    MORE_STEPS.append((POSITION, audit_step))


def to_read(access: Access) -> list[overview.Need]:
    """The open audits of prepared releases with notes that nobody has read."""
    plans = AuditPlan.objects.filter(
        release__project=access.project, state=AuditPlan.State.OPEN, release__state=Release.State.PREPARED
    )
    rows = plans.order_by("release__number").annotate(left=Count("notes", filter=~Q(notes__state=AuditNote.State.DONE)))
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


def audit_step(access: Access, release: Release) -> Step:
    """The state of a release's audit, and the page where it goes on."""
    title, result = _("Audit a sample"), audit_result(release)
    if result is None:
        text = _("Optional. Without an audit, the rate of leaks is unknown, and signing lists that as a risk.")
        if release.state == Release.State.SIGNED:
            text = _("The release was signed without an audit, so the rate of leaks is unknown.")
        if waiting_for(release):
            return Step(title, text, done=False)
        return Step(title, text, done=False, page="release_audit", action=_("Plan audit"), optional=True)
    if result.complete:
        text = bound_in_words(result)
    else:
        text = _("Auditors have read %(read)d of %(all)d notes.") % {"read": result.read, "all": result.drawn}
    if result.undecided:
        leaks = ngettext(
            "Nobody has decided about %(n)d leak that they found.",
            "Nobody has decided about %(n)d leaks that they found.",
            result.undecided,
        ) % {"n": result.undecided}
        return Step(title, f"{text} {leaks}", done=False, page="audit_leaks", action=_("Decide leaks"))
    if result.complete and result.met:
        return Step(title, text, done=True)
    if result.complete:
        text += " " + _("The target of %(target)s was not met.") % {"target": whole(result.target)}
        return Step(title, text, done=False, page="release_audit", action=_("Show audit"), optional=True)
    is_open = release.state == Release.State.PREPARED
    return Step(title, text, done=False, page="release_audit" if is_open else "", action=_("Show audit"))
