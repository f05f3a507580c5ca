"""The guidelines as they stand: text, version, when they changed, and the rules that were added since."""

from dataclasses import dataclass
from datetime import datetime

from annotations.models import Amendment, Event, Project, Verb

# So many of a project's last events are looked at for the day of a change; the day of an older one isn't said.
WINDOW = 20_000


@dataclass(frozen=True)
class Guide:
    """`changed`: when the text or its rules last changed, where the log still says so within reach."""

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
    """Of a version that is there: 0 was never changed."""
    if not project.guidelines_version:
        return None
    events = Event.objects.filter(project_id=project.pk).order_by("-id")
    oldest = next(iter(events.values_list("pk", flat=True)[WINDOW - 1 : WINDOW]), 0)
    mine = events.filter(pk__gte=oldest, verb=Verb.GUIDELINES_CHANGED)
    return mine.values_list("at", flat=True).first()
