"""Failed sign-ins don't fill the database: the relay deletes those older than a week."""

from datetime import timedelta

import pytest
from axes.models import AccessFailureLog
from django.db.models import F

from annotations.accounts.services import old_failures
from annotations.jobs.services.relay import Relay

pytestmark = pytest.mark.django_db


def failed(days: float, number: int) -> None:
    rows = [AccessFailureLog(username=f"{days} days", ip_address="10.0.0.1") for _ in range(number)]
    made = [row.pk for row in AccessFailureLog.objects.bulk_create(rows)]
    AccessFailureLog.objects.filter(pk__in=made).update(attempt_time=F("attempt_time") - timedelta(days=days))


def left() -> dict[str, int]:
    names = list(AccessFailureLog.objects.values_list("username", flat=True))
    return {name: names.count(name) for name in names}


def test_the_relay_deletes_old_failures_and_keeps_those_that_locks_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_failures, "AT_ONCE", 2)
    for days, number in ((30, 3), (7.01, 2), (6.99, 2), (0, 1)):
        failed(days, number)
    Relay().round()
    assert left() == {"6.99 days": 2, "0 days": 1}
    Relay().round()
    assert left() == {"6.99 days": 2, "0 days": 1}


def test_old_failures_without_newer_ones_are_deleted_too() -> None:
    failed(8, 3)
    Relay().round()
    assert left() == {}
