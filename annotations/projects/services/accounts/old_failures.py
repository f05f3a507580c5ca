"""Deletion of failed sign-ins after a week.

Locks need one day of them, and anybody can cause any number. Also, people sometimes type their password into the field
for the user name.
"""

from datetime import timedelta

from axes.models import AccessFailureLog
from django.utils import timezone

KEPT = timedelta(days=7)
# Rows deleted in one transaction. SQLite allows one writer at a time, and others wait for it.
AT_ONCE = 5000


def forget_failures() -> int:
    """Delete the failures that are older than KEPT. Return how many."""
    rows = AccessFailureLog.objects.order_by("pk")
    # The time has no index, but rows are in the order of time, so this reads only the old rows and one more.
    kept = rows.filter(attempt_time__gte=timezone.now() - KEPT).values_list("pk", flat=True).first()
    old = rows if kept is None else rows.filter(pk__lt=kept)
    count = 0
    while found := list(old.values_list("pk", flat=True)[:AT_ONCE]):
        count += AccessFailureLog.objects.filter(pk__in=found).delete()[0]
    return count
