"""The relay is killed while a receiver holds its connection: the message arrives later, with the same id."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from annotations.models import Delivery, DeliveryState
from annotations.ops.services.webhooks.webhooks import put_in_line
from tests.waiting import HANGS, wait_for
from tests.worlds.queue import processes, redis_server

__all__ = ["processes", "redis_server"]
pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def relay(receiver, monkeypatch, request):
    """`relay()` starts a real relay that may reach the receiver."""
    monkeypatch.setenv("DEIDREVIEW_WEBHOOK_HOSTS", receiver.listed)
    start = request.getfixturevalue("processes")
    return lambda: start("relay")


def test_a_relay_that_is_killed_while_it_sends_loses_nothing(webhook, mia, receiver, relay):
    let_go = threading.Event()
    receiver.raw = lambda handler: let_go.wait(HANGS)
    first, second = (put_in_line([webhook], "job.done", {"job": number}, ("jobs", 1))[0] for number in (1, 2))

    killed = relay()
    wait_for(lambda: receiver.received, what="the first message")
    killed.kill9()
    receiver.raw = None
    let_go.set()
    first.refresh_from_db()
    assert (first.state, first.tries) == ("waiting", []), "nobody knows yet whether it arrived"

    # The claim of the killed relay ends after a minute, which nobody waits for here.
    claim = Delivery.objects.filter(pk=first.pk, claimed_until__gt=timezone.now())
    assert claim.update(claimed_until=timezone.now() - timedelta(seconds=1))
    again = relay()
    delivered = Delivery.objects.filter(state=DeliveryState.DELIVERED)
    wait_for(lambda: delivered.count() == 2, what="both messages")
    page = mia.get(f"/projects/covid/webhooks/{webhook.pk}/").content.decode()
    assert page.count("Status 204.") == 2 and "Waiting" not in page

    for delivery in (first, second):
        delivery.refresh_from_db()
    assert [one["reason"] for one in first.tries] == ["interrupted", ""] and first.tried == 2
    assert [one["reason"] for one in second.tries] == [""] and second.tried == 1 and again.popen.poll() is None
    # The relay looks for messages every second, and finds one more at its next look.
    (third,) = put_in_line([webhook], "job.done", {"job": 3}, ("jobs", 1))
    wait_for(lambda: delivered.count() == 3, what="the message of the next look")
    arrived = [(one.headers["webhook-id"], one.json["data"]["job"]) for one in receiver.received]
    assert sorted(arrived) == sorted([(str(first.key), 1)] * 2 + [(str(second.key), 2), (str(third.key), 3)])
    assert arrived[0] == (str(first.key), 1)
