"""This feature's own parts of a project's overview."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Membership, Role
from annotations.projects.selectors.members import IDLE_DAYS, activity


def _has_guidelines(access: Access) -> bool:
    return bool(access.project.guidelines.strip())


@overview.needs.part(40, Can.MANAGE)
def guidelines_missing(access: Access) -> list[overview.Need]:
    if _has_guidelines(access):
        return []
    text = _("The guidelines are missing. Annotators see them beside each note.")
    return [overview.Need(text, access.url("guidelines_edit"), _("Write guidelines"))]


@overview.steps.part(30, Can.MANAGE)
def guidelines_step(access: Access) -> list[overview.Step]:
    url = access.url("guidelines_edit")
    text = _("Say what to mark and which label to use; annotators see it beside the note.")
    return [
        overview.Step(
            _("Write the guidelines"), text, url, _("Write guidelines"), _has_guidelines(access), optional=True
        )
    ]


# The parts of a project's overview about its people.


# How many names of idle people are shown.
NAMES = 3


@overview.needs.part(30, Can.MANAGE)
def idle(access: Access) -> list[overview.Need]:
    people = [one.user.username for one in access.once(activity) if one.idle]
    if not people:
        return []
    shown = ", ".join([*people[:NAMES], "…"] if len(people) > NAMES else people)
    text = ngettext(
        "%(n)d person with open notes was not active for %(days)d days: %(names)s.",
        "%(n)d people with open notes were not active for %(days)d days: %(names)s.",
        len(people),
    ) % {"n": len(people), "days": IDLE_DAYS, "names": shown}
    return [overview.Need(text, access.url("people"), _("Show people"))]


@overview.steps.part(20, Can.MANAGE)
def invite(access: Access) -> list[overview.Step]:
    people = Membership.objects.filter(project=access.project, role=Role.ANNOTATOR, active=True)
    done = access.project.is_alone or people.exists()
    text = _("Add at least two annotators, so that you can measure agreement, or work alone.")
    return [overview.Step(_("Add people"), text, access.url("people"), _("Add people"), done)]
