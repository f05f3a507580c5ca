"""The parts of a project's overview about its people."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Membership, Role
from annotations.projects.selectors.activity import IDLE_DAYS, activity

# How many names of idle people are shown.
NAMES = 3


def register() -> None:
    overview.needs.register(30, Can.MANAGE, idle)
    overview.steps.register(20, Can.MANAGE, invite)


def idle(access: Access) -> list[overview.Need]:
    people = [one.name for one in activity(access.project) if one.idle]
    if not people:
        return []
    shown = ", ".join([*people[:NAMES], "…"] if len(people) > NAMES else people)
    text = ngettext(
        "%(n)d person with open notes was not active for %(days)d days: %(names)s.",
        "%(n)d people with open notes were not active for %(days)d days: %(names)s.",
        len(people),
    ) % {"n": len(people), "days": IDLE_DAYS, "names": shown}
    return [overview.Need(text, reverse("people", args=[access.project.slug]), _("Show people"))]


def invite(access: Access) -> list[overview.Step]:
    done = Membership.objects.filter(project=access.project, role=Role.ANNOTATOR, active=True).exists()
    url = reverse("people", args=[access.project.slug])
    text = _("Add at least two annotators, so that you can measure agreement.")
    return [overview.Step(_("Invite people"), text, url, _("Invite people"), done)]
