"""This feature's own parts of a project's overview."""

from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can


def register() -> None:
    overview.needs.register(40, Can.MANAGE, guidelines_missing)
    overview.steps.register(30, Can.MANAGE, guidelines_step)


def _has_guidelines(access: Access) -> bool:
    return bool(access.project.guidelines.strip())


def guidelines_missing(access: Access) -> list[overview.Need]:
    if _has_guidelines(access):
        return []
    text = _("The guidelines are missing. Annotators see them beside each note.")
    return [overview.Need(text, reverse("guidelines_edit", args=[access.project.slug]), _("Write guidelines"))]


def guidelines_step(access: Access) -> list[overview.Step]:
    url = reverse("guidelines_edit", args=[access.project.slug])
    text = _("Say what to mark and which label to use; annotators see it beside the note.")
    return [overview.Step(_("Write the guidelines"), text, url, _("Write guidelines"), _has_guidelines(access))]
