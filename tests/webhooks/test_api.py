"""Webhooks by the API: the secret is shown once, errors name their field, and the log has every delivery."""

import pytest

from annotations.models import Delivery
from annotations.webhooks.services.sending import send_now
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
HOOKS = "/projects/covid/webhooks"


def test_a_webhook_from_its_secret_to_its_log(world, receiver):
    api = Program(world.mia)
    made = api.post(HOOKS, {"url": receiver.url(), "kinds": ["job.done"]})
    assert (made.status_code, made.json()["secret"][:6]) == (201, "whsec_")
    own = f"{HOOKS}/{made.json()['id']}"
    for shown in (api.get(own), api.get(HOOKS)):
        assert b"whsec_" not in shown.content and receiver.url().encode() in shown.content
    assert api.post(f"{own}/secret").json()["secret"] != made.json()["secret"]
    sent = api.post(f"{own}/test")
    assert (sent.status_code, sent.json()["state"]) == (202, "waiting")
    receiver.statuses = [500]
    send_now(Delivery.objects.get().pk)
    (logged,) = api.get(f"{own}/deliveries").json()["items"]
    assert (logged["id"], logged["state"], logged["status"]) == (sent.json()["id"], "failed", 500)
    again = api.post(f"{own}/deliveries/{logged['id']}/resend")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    assert api.post(f"{own}/deliveries/{logged['id']}/resend").json()["code"] == "waiting"
    changed = api.patch(own, {"kinds": ["gold.frozen"], "on": False}).json()
    assert (changed["kinds"], changed["state"], changed["url"]) == (["gold.frozen"], "off", receiver.url())
    assert (api.delete(own).status_code, api.get(own).status_code) == (204, 404)


def test_what_is_wrong_is_named(world, receiver):
    api = Program(world.mia)

    def fields(**body):
        answer = api.post(HOOKS, {"url": receiver.url(), "kinds": ["test"]} | body)
        return [one["field"] for one in answer.json()["errors"]]

    assert fields() == ["kinds"]
    assert fields(kinds=[]) == ["kinds"]
    assert fields(kinds=["job.done"], url="https://elsewhere.example.org/") == ["url"]
