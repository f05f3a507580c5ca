"""The decision that every gold span records."""

from datetime import datetime

from django.utils import timezone

from annotations.models import Project, User
from annotations.text.provenance import Provenance


def decided(user: User | None, project: Project, at: datetime | None = None) -> Provenance:
    """Return who decided, when, and under which version of the guidelines (0 if there were none yet)."""
    return {
        "by": user.username if user else None,
        "at": (at or timezone.now()).isoformat(timespec="seconds"),
        "guidelines": project.guidelines_version,
    }
