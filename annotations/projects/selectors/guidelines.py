"""The current guidelines: text, version, time of the last change, and added rules."""

from dataclasses import dataclass
from datetime import datetime

from annotations.models import Amendment, Event, Project
from annotations.projects.events import GUIDELINES_CHANGED

# The time of a change is looked up in this many of the latest events. Of an older change, no time is shown.
WINDOW = 20_000


@dataclass(frozen=True)
class Guide:
    """Guidelines of a project. `changed` is the time of the last change to text or rules; None if not found."""

    text: str
    version: int
    changed: datetime | None
    amendments: list[Amendment]

    def __bool__(self) -> bool:
        return bool(self.text or self.amendments)


def guide_of(project: Project) -> Guide:
    amendments = list(Amendment.objects.filter(project=project).order_by("number"))
    days = [day for day in (_changed(project), *(each.at for each in amendments[-1:])) if day is not None]
    return Guide(project.guidelines, project.guidelines_version, max(days, default=None), amendments)


def _changed(project: Project) -> datetime | None:
    """Time of the last change of the text, if found. Version 0 was never changed."""
    if not project.guidelines_version:
        return None
    events = Event.objects.filter(project_id=project.pk).order_by("-id")
    oldest = next(iter(events.values_list("pk", flat=True)[WINDOW - 1 : WINDOW]), 0)
    mine = events.filter(pk__gte=oldest, verb=GUIDELINES_CHANGED)
    return mine.values_list("at", flat=True).first()
