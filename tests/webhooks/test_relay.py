"""The relay sends in threads of its own, so that a slow server does not keep it."""

import threading

import pytest

from annotations.models import Delivery
from annotations.webhooks.selectors.kinds import KINDS
from annotations.webhooks.services.recording import put_in_line
from annotations.webhooks.services.sending import send_waiting
from annotations.webhooks.services.webhooks import add_webhook
from tests.waiting import HANGS, wait_for


@pytest.mark.django_db(transaction=True)
def test_a_step_of_the_relay_sends_what_is_due(world, receiver):
    answering = threading.Event()
    receiver.raw = lambda handler: (answering.wait(HANGS), handler.send_response(200), handler.end_headers())
    made = add_webhook(project=world.project, url=receiver.url(), kinds=list(KINDS), actor=world.mia)
    put_in_line([made.webhook], "job.done", {})
    send_waiting()
    send_waiting()  # the next second: the delivery is claimed or in a thread already
    answering.set()  # neither waited for the receiver's answer
    wait_for(lambda: Delivery.objects.get().state == "delivered", what="the delivery")
    assert len(receiver.received) == 1
