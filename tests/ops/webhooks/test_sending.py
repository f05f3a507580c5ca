"""Deliveries: signed, retried, claimed once, sent again, stopped after failures, and forgotten."""

import base64
import hashlib
import hmac
import json
import threading
import uuid
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from annotations.core import hooks
from annotations.core.services import ServiceError
from annotations.models import Delivery, DeliveryState, Event, Webhook, WebhookState
from annotations.ops.services.webhooks import sending
from annotations.ops.services.webhooks.sending import GIVE_UP, TRIES, forget_old, pause_after, send_now, send_waiting
from annotations.ops.services.webhooks.webhooks import put_in_line, send_again, send_test, switch
from tests.factories import reread
from tests.waiting import HANGS, wait_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery(made):
    return put_in_line([made.webhook], "job.done", {}, ("jobs", 1))[0]


def past():
    return timezone.now() - timedelta(seconds=1)


def change(delivery, **values):
    Delivery.objects.filter(pk=delivery.pk).update(**values)


def send(delivery):
    """Send the delivery, and return whether there was one to send."""
    sent = send_now(delivery.pk)
    delivery.refresh_from_db()
    return sent


def test_a_message_is_signed_as_standard_webhooks_says_and_sent_once(made, delivery, receiver):
    assert send(delivery) and not send(delivery)
    (got,) = receiver.received
    at = delivery.created_at.isoformat(timespec="seconds")
    assert got.json == {
        "type": "job.done", "timestamp": at, "data": {"project": "covid", "link": "/projects/covid/jobs/1/"},
    }  # fmt: skip
    assert got.headers["webhook-id"] == str(delivery.key)
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    secret = base64.b64decode(made.secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    assert (delivery.state, delivery.tried, delivery.tries[0]["status"]) == ("delivered", 1, 204)
    assert made.secret.removeprefix("whsec_").encode() not in bytes(made.webhook.sealed)
    events = json.dumps(list(Event.objects.values_list("data", flat=True)))
    assert "127.0.0.1" not in events and "whsec" not in events


def test_a_known_signature():
    """The example of the specification's reference implementations."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    found = sending.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_claimed_delivery_is_left_alone_until_the_claim_expires(made, delivery, receiver):
    put_in_line([made.webhook], "job.done", {}, ("jobs", 1))
    assert sending._due() == [delivery.pk], "one delivery of a webhook is due at a time"
    change(delivery, claimed_until=timezone.now() + timedelta(seconds=30))
    assert sending._due() == [] and not send(delivery)
    change(delivery, claimed_until=past())  # its sender was killed
    assert send(delivery)


def test_a_message_that_ends_every_sender_is_given_up(webhook, delivery, monkeypatch):
    class KilledError(BaseException):
        pass

    def kill(row):
        raise KilledError

    monkeypatch.setattr(sending, "_sent", kill)
    for _ in range(TRIES):
        with pytest.raises(KilledError):
            send_now(delivery.pk)
        change(delivery, claimed_until=past())
    assert not send(delivery)
    webhook.refresh_from_db()
    assert (delivery.state, delivery.tried, webhook.given_up) == ("failed", TRIES, 1)
    assert [one["reason"] for one in delivery.tries] == ["interrupted"] * TRIES and not send(delivery)


def test_a_test_that_was_interrupted_is_sent_again(world, webhook, receiver):
    delivery = send_test(webhook=webhook, actor=world.mia)
    change(delivery, claimed_until=past(), claim=uuid.uuid4())
    assert send(delivery) and (delivery.state, delivery.tried) == ("delivered", 2)


def test_a_sender_without_the_claim_writes_nothing(delivery, receiver, monkeypatch):
    original = sending._sent

    def late(row):
        change(row, claim=None)
        return original(row)

    monkeypatch.setattr(sending, "_sent", late)
    send(delivery)
    assert (delivery.state, delivery.tries) == ("waiting", [])


def test_a_failure_is_tried_again_later_with_the_same_id(delivery, receiver):
    receiver.statuses = [503, 204]
    send(delivery)
    assert delivery.state == "waiting" and delivery.tries[0]["reason"] == "status"
    assert 25 < (delivery.due_at - timezone.now()).total_seconds() < 40
    assert not send(delivery), "it is not due yet"
    change(delivery, due_at=past())
    assert send(delivery) and {got.headers["webhook-id"] for got in receiver.received} == {str(delivery.key)}


def test_pauses_grow_to_hours():
    pauses = [pause_after(tried) for tried in range(1, TRIES)]
    assert 30 <= pauses[0] <= 33 and 30_000 < pauses[-1] < 36_000
    assert all(later > 3 * before for before, later in pairwise(pauses))


def test_a_webhook_is_stopped_after_repeated_failures(world, webhook, delivery, receiver):
    Webhook.objects.update(given_up=GIVE_UP - 1)
    send(delivery)
    assert reread(webhook).given_up == 0, "a success ends a row of failures"
    receiver.statuses = [500]
    for _ in range(GIVE_UP):
        (delivery,) = put_in_line([webhook], "job.done", {}, ("jobs", 1))
        change(delivery, tried=TRIES - 1)
        send(delivery)
    assert reread(webhook).state == WebhookState.STOPPED
    assert Event.objects.filter(verb="webhook.stopped", actor=None).count() == 1
    (waiting,) = put_in_line([webhook], "job.done", {}, ("jobs", 1))
    assert not send(waiting)
    switch(webhook=webhook, on=True, actor=world.mia)
    assert send(waiting)


def test_sending_again(world, delivery, receiver):
    with pytest.raises(ServiceError, match="waiting to be sent already"):
        send_again(delivery=delivery, actor=world.mia)
    send(delivery)
    send_again(delivery=delivery, actor=world.mia)
    assert send(delivery) and len(delivery.tries) == 2
    assert {got.headers["webhook-id"] for got in receiver.received} == {str(delivery.key)}


def test_a_test_is_sent_once_also_while_the_webhook_is_off(world, webhook, receiver):
    receiver.statuses = [500]
    switch(webhook=webhook, on=False, actor=world.mia)
    delivery = send_test(webhook=webhook, actor=world.mia)
    assert send(delivery)
    webhook.refresh_from_db()
    assert (delivery.state, webhook.given_up, receiver.received[0].json["type"]) == ("failed", 0, "test")


def test_an_archived_project_and_another_secret_key_send_nothing(world, delivery, receiver, settings):
    world.project.archived_at = timezone.now()
    world.project.save()
    assert not send(delivery)
    world.project.archived_at = None
    world.project.save()
    settings.SECRET_KEY = "another-" * 8
    send(delivery)
    assert delivery.tries[0]["reason"] == "secret" and not receiver.received


def test_old_deliveries_are_forgotten(delivery):
    forget_old()
    assert Delivery.objects.exists()
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    forget_old()
    assert not Delivery.objects.exists() and forget_old in hooks.tidiers and sending.send_waiting in hooks.relay_steps


@pytest.mark.django_db(transaction=True)
def test_a_step_of_the_relay_sends_what_is_due_in_threads_of_its_own(webhook, receiver):
    answering = threading.Event()
    receiver.raw = lambda handler: (answering.wait(HANGS), handler.send_response(200), handler.end_headers())
    put_in_line([webhook], "job.done", {}, ("jobs", 1))
    send_waiting()
    send_waiting()  # the next second: the delivery is claimed or in a thread already
    answering.set()  # neither waited for the receiver's answer
    wait_for(lambda: Delivery.objects.get().state == "delivered", what="the delivery")
    assert len(receiver.received) == 1


# The relay is killed while a receiver holds its connection: the message arrives later, with the same id


@pytest.fixture
def relay(receiver, monkeypatch, request):
    """`relay()` starts a real relay that may reach the receiver."""
    monkeypatch.setenv("DEIDREVIEW_WEBHOOK_HOSTS", receiver.listed)
    start = request.getfixturevalue("processes")
    return lambda: start("relay")


@pytest.mark.queue
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_a_relay_that_is_killed_while_it_sends_loses_nothing(webhook, mia, receiver, relay):
    let_go = threading.Event()
    receiver.raw = lambda handler: let_go.wait(HANGS)
    first, second = (put_in_line([webhook], "job.done", {"job": number}, ("jobs", 1))[0] for number in (1, 2))

    killed = relay()
    wait_for(lambda: receiver.received, what="the first message")
    killed.kill9()
    receiver.raw = None
    let_go.set()
    assert (reread(first).state, first.tries) == ("waiting", []), "nobody knows yet whether it arrived"

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
