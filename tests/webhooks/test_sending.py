"""Deliveries: signed, retried, claimed once, sent again, stopped after failures, and forgotten."""

import base64
import hashlib
import hmac
import json
import uuid
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.jobs import hooks
from annotations.models import Delivery, Event, Webhook
from annotations.webhooks.selectors.kinds import KINDS
from annotations.webhooks.services import sending
from annotations.webhooks.services.recording import put_in_line
from annotations.webhooks.services.sending import GIVE_UP, TRIES, forget_old, pause_after, send_now
from annotations.webhooks.services.webhooks import add_webhook, send_again, send_test, switch

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(world, receiver):
    return add_webhook(project=world.project, url=receiver.url(), kinds=list(KINDS), actor=world.mia)


@pytest.fixture
def delivery(made):
    return put_in_line([made.webhook], "job.done", {"project": "covid", "link": "/x/"})[0]


def due_now(delivery):
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now() - timedelta(seconds=1))


def test_a_message_is_signed_as_standard_webhooks_says(made, delivery, receiver):
    assert send_now(delivery.pk)
    (got,) = receiver.received
    assert got.json == {
        "type": "job.done",
        "timestamp": delivery.created_at.isoformat(timespec="seconds"),
        "data": {"project": "covid", "link": "/x/"},
    }
    assert got.headers["webhook-id"] == str(delivery.key)
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    secret = base64.b64decode(made.secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tried, delivery.tries[0]["status"]) == ("delivered", 1, 204)
    assert made.secret.removeprefix("whsec_").encode() not in bytes(made.webhook.sealed)


def test_a_known_signature():
    """The example of the specification's reference implementations."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    found = sending.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_delivery_is_sent_once(delivery, receiver):
    assert send_now(delivery.pk) and not send_now(delivery.pk)
    assert len(receiver.received) == 1


def test_a_claimed_delivery_is_left_alone_until_the_claim_expires(delivery, receiver):
    rows = Delivery.objects.filter(pk=delivery.pk)
    rows.update(claimed_until=timezone.now() + timedelta(seconds=30))
    assert not send_now(delivery.pk)
    rows.update(claimed_until=timezone.now() - timedelta(seconds=1))  # its sender was killed
    assert send_now(delivery.pk)


def _expired(delivery, **changes):
    """End the claim of a sender that was killed while it sent."""
    rows = Delivery.objects.filter(pk=delivery.pk)
    rows.update(claimed_until=timezone.now() - timedelta(seconds=1), **changes)


def test_a_message_that_ends_every_sender_is_given_up(made, delivery, monkeypatch):
    class KilledError(BaseException):
        pass

    def kill(row):
        raise KilledError

    monkeypatch.setattr(sending, "_sent", kill)
    for _ in range(TRIES):
        with pytest.raises(KilledError):
            send_now(delivery.pk)
        _expired(delivery)
    assert not send_now(delivery.pk)
    delivery.refresh_from_db()
    made.webhook.refresh_from_db()
    assert (delivery.state, delivery.tried, made.webhook.given_up) == ("failed", TRIES, 1)
    assert [one["reason"] for one in delivery.tries] == ["interrupted"] * TRIES
    assert not send_now(delivery.pk)


def test_a_test_that_was_interrupted_is_sent_again(world, made, receiver):
    delivery = send_test(webhook=made.webhook, actor=world.mia)
    _expired(delivery, claim=uuid.uuid4())
    assert send_now(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tried) == ("delivered", 2)


def test_a_sender_without_the_claim_writes_nothing(delivery, receiver, monkeypatch):
    original = sending._sent

    def late(row):
        Delivery.objects.filter(pk=row.pk).update(claim=None)
        return original(row)

    monkeypatch.setattr(sending, "_sent", late)
    send_now(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("waiting", [])


def test_a_failure_is_tried_again_later_with_the_same_id(delivery, receiver):
    receiver.statuses = [503, 204]
    send_now(delivery.pk)
    delivery.refresh_from_db()
    assert delivery.state == "waiting" and delivery.tries[0]["reason"] == "status"
    assert 25 < (delivery.due_at - timezone.now()).total_seconds() < 40
    assert not send_now(delivery.pk), "it is not due yet"
    due_now(delivery)
    assert send_now(delivery.pk)
    assert {got.headers["webhook-id"] for got in receiver.received} == {str(delivery.key)}


def test_pauses_grow_to_hours():
    pauses = [pause_after(tried) for tried in range(1, TRIES)]
    assert 30 <= pauses[0] <= 33 and 30_000 < pauses[-1] < 36_000
    assert all(later > 3 * before for before, later in pairwise(pauses))


def test_a_webhook_is_stopped_after_repeated_failures(world, made, receiver):
    receiver.statuses = [500]
    for _ in range(GIVE_UP):
        (delivery,) = put_in_line([made.webhook], "job.done", {})
        Delivery.objects.filter(pk=delivery.pk).update(tried=TRIES - 1)
        send_now(delivery.pk)
    made.webhook.refresh_from_db()
    assert made.webhook.state == Webhook.State.STOPPED
    assert Event.objects.filter(verb="webhook.stopped", actor=None).count() == 1
    (waiting,) = put_in_line([made.webhook], "job.done", {})
    assert not send_now(waiting.pk)
    switch(webhook=made.webhook, on=True, actor=world.mia)
    assert send_now(waiting.pk)


def test_a_success_ends_a_row_of_failures(made, delivery, receiver):
    Webhook.objects.update(given_up=GIVE_UP - 1)
    send_now(delivery.pk)
    made.webhook.refresh_from_db()
    assert made.webhook.given_up == 0


def test_sending_again(world, delivery, receiver):
    with pytest.raises(ServiceError, match="waiting to be sent already"):
        send_again(delivery=delivery, actor=world.mia)
    send_now(delivery.pk)
    delivery.refresh_from_db()
    send_again(delivery=delivery, actor=world.mia)
    assert send_now(delivery.pk)
    assert {got.headers["webhook-id"] for got in receiver.received} == {str(delivery.key)}
    delivery.refresh_from_db()
    assert len(delivery.tries) == 2


def test_a_test_is_sent_once_also_while_the_webhook_is_off(world, made, receiver):
    receiver.statuses = [500]
    switch(webhook=made.webhook, on=False, actor=world.mia)
    delivery = send_test(webhook=made.webhook, actor=world.mia)
    assert send_now(delivery.pk)
    delivery.refresh_from_db()
    made.webhook.refresh_from_db()
    assert (delivery.state, made.webhook.given_up) == ("failed", 0)
    assert receiver.received[0].json["type"] == "test"


def test_an_archived_project_sends_nothing(world, delivery, receiver):
    world.project.archived_at = timezone.now()
    world.project.save()
    assert not send_now(delivery.pk)


def test_another_secret_key(delivery, receiver, settings):
    settings.SECRET_KEY = "another-" * 8
    send_now(delivery.pk)
    delivery.refresh_from_db()
    assert delivery.tries[0]["reason"] == "secret" and not receiver.received


def test_old_deliveries_are_forgotten(delivery):
    forget_old()
    assert Delivery.objects.exists()
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    forget_old()
    assert not Delivery.objects.exists()
    assert forget_old in hooks.TIDIERS and sending.send_waiting in hooks.STEPS


def test_one_delivery_of_a_webhook_is_due_at_a_time(made, delivery):
    put_in_line([made.webhook], "job.done", {})
    assert sending._due() == [delivery.pk]
    Delivery.objects.filter(pk=delivery.pk).update(claimed_until=timezone.now() + timedelta(seconds=30))
    assert sending._due() == []


def test_messages_hold_no_address_or_secret(made, delivery, receiver):
    send_now(delivery.pk)
    events = json.dumps(list(Event.objects.values_list("data", flat=True)))
    assert "127.0.0.1" not in events and "whsec" not in events
