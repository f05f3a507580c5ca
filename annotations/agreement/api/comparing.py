"""What routes do that need the comparisons of a project's notes."""

from typing import Final

from django.utils.translation import gettext as _

from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.api.problems import Problem
from annotations.models import Project

SECONDS: Final = 1.5
"""For which one request may compare notes."""


def compare(project: Project) -> None:
    """Compare the notes with changed annotations. Raises Problem (503) while some are left."""
    if left := bring_up_to_date(project, seconds=SECONDS):
        raise Problem(
            503,
            "comparing",
            _("The annotations are being compared. Notes left: %(left)s. Send the request again.") % {"left": left},
            headers={"Retry-After": "1"},
        )
