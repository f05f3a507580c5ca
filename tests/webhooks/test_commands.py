"""The commands, with and without --json."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Delivery, Event, Webhook

pytestmark = pytest.mark.django_db


def asked(*words):
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def said(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_from_adding_to_removing(world, receiver):
    added = asked("add_webhook", "covid", receiver.url(), "--event", "job.done", "--by", "mia")
    number = str(added["webhook"])
    assert added["secret"].startswith("whsec_") and added["events"] == ["job.done"]
    sent = asked("send_webhook", "covid", number)
    assert (sent["state"], sent["status"], sent["attempts"]) == ("delivered", 204, 1)
    receiver.statuses = [500]
    assert "Status 500. The server refused" in said("send_webhook", "covid", number, "--again", sent["delivery"])
    (row,) = asked("webhooks", "covid")["webhooks"]
    assert row["url"] == receiver.url() and row["deliveries"][0]["reason"] == "The server refused the message."
    assert receiver.url() in said("webhooks", "covid") and sent["delivery"] in said("webhooks", "covid")
    changed = asked("change_webhook", "covid", number, "--off", "--event", "gold.frozen", "--new-secret")
    assert (changed["state"], changed["events"]) == ("off", ["gold.frozen"])
    assert changed["secret"] != added["secret"]
    assert "It is on" in said("change_webhook", "covid", number, "--on")
    assert "was removed" in said("remove_webhook", "covid", number)
    assert "no webhooks" in said("webhooks", "covid")
    assert not Webhook.objects.exists() and not Delivery.objects.exists()
    assert Event.objects.filter(verb="webhook.added", actor=world.mia).exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add_webhook", "covid", "https://nowhere.example.org/"], "not on the list"),
        (["change_webhook", "covid", "1", "--on"], "no webhook 1. Webhooks: –."),
        (["remove_webhook", "covid", "x"], "no webhook x"),
    ],
)
def test_errors(world, receiver, words, reason):
    with pytest.raises(CommandError, match=reason):
        call_command(*words)


def test_more_errors(world, receiver):
    number = str(asked("add_webhook", "covid", receiver.url())["webhook"])
    with pytest.raises(CommandError, match="Nothing to change"):
        call_command("change_webhook", "covid", number)
    with pytest.raises(CommandError, match="has no delivery"):
        call_command("send_webhook", "covid", number, "--again", "x")
