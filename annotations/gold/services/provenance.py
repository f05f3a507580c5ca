"""What every gold span says of the decision that it came by, whichever way it came."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from annotations.models import Project, User


def decided(user: User | None, project: Project, at: datetime | None = None) -> dict[str, Any]:
    """Who, when, and by which version of the guidelines (0: there were none yet)."""
    return {
        "by": user.username if user else None,
        "at": (at or timezone.now()).isoformat(timespec="seconds"),
        "guidelines": project.guidelines_version,
    }
