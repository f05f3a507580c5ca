"""The queue's part of a project's overview."""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Job, JobState

# Older failures are no news: the list of jobs still shows them.
RECENT_DAYS = 7


@overview.needs.part(50, Can.MANAGE)
def failed(access: Access) -> list[overview.Need]:
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    n = Job.objects.filter(project=access.project, state=JobState.FAILED, finished_at__gte=since).count()
    if not n:
        return []
    text = ngettext(
        "%(n)d job failed in the last %(days)d days.", "%(n)d jobs failed in the last %(days)d days.", n
    ) % {"n": n, "days": RECENT_DAYS}
    return [overview.Need(text, access.url("jobs"), _("Show jobs"))]
