"""Secrets that the API shows once: they are not stored for a repeated request, which has no second effect."""

import base64
import json

import pytest

from annotations.core.api.mount import api
from annotations.core.api.routes import SHOWN_ONCE
from annotations.core.sealing import project_key
from annotations.models import ApiAnswer, Membership, User, Webhook
from annotations.ops.rules import read_hosts
from tests.factories import make_user

pytestmark = pytest.mark.django_db
MEMBERS, WEBHOOKS = "/projects/ward/members", "/projects/ward/webhooks"
HOOK = {"url": "https://hooks.example.org/", "kinds": ["job.done"]}
NEW = {"username": "nina", "role": "annotator", "account": "new"}
NAMES = {"secret", "link", "password", "token", "codes"}
MARKED = {"new_webhook", "renew_webhook_secret", "new_member", "new_password_link"}


@pytest.fixture(autouse=True)
def listed(settings) -> None:
    settings.WEBHOOK_HOSTS = read_hosts(["hooks.example.org"])


def _sent_twice(world, path, body=None):
    first, again = (world.program.post(path, body, idempotency_key="k") for _ in range(2))
    assert first.status_code in (200, 201), first.content
    return first.json(), again


def _refused(again, how):
    assert (again.status_code, again.json()["code"]) == (409, "shown-once")
    assert "was carried out" in again.json()["detail"] and how in again.json()["detail"]


def _stored(secret):
    """Whether the secret is in the stored answer."""
    row = ApiAnswer.objects.get()
    said = project_key(row.project_id).open(bytes(row.sealed))
    return secret in json.dumps(said) + base64.b64decode(said.get("body", "")).decode()


def test_a_new_webhook_and_a_replaced_secret(world):
    first, again = _sent_twice(world, WEBHOOKS, HOOK)
    _refused(again, "/webhooks/{webhook}/secret")
    assert first["secret"] not in again.content.decode() and not _stored(first["secret"])
    assert Webhook.objects.count() == 1
    ApiAnswer.objects.all().delete()
    renewed, again = _sent_twice(world, f"{WEBHOOKS}/{first['id']}/secret")
    _refused(again, "new Idempotency-Key")
    assert renewed["secret"] != first["secret"] and not _stored(renewed["secret"])
    sealed = bytes(Webhook.objects.get().sealed)
    assert "whsec_" + project_key(world.project.pk).open(sealed) == renewed["secret"], "the first request's counts"


def test_a_new_account_and_a_password_link(world):
    first, again = _sent_twice(world, MEMBERS, NEW)
    _refused(again, "/members/{member}/password-link")
    assert first["link"] and not _stored(first["link"]) and User.objects.filter(username="nina").count() == 1
    ApiAnswer.objects.all().delete()
    link, again = _sent_twice(world, f"{MEMBERS}/{first['id']}/password-link")
    _refused(again, "new Idempotency-Key")
    assert not _stored(link["link"])


def test_an_answer_without_a_secret_and_an_error_are_repeated(world):
    make_user("nina")
    first, again = _sent_twice(world, MEMBERS, NEW | {"account": "existing"})
    assert first["link"] is None and (again.status_code, again.json()) == (201, first)
    assert Membership.objects.filter(user__username="nina").count() == 1
    wrong = HOOK | {"url": "?"}
    assert {world.program.post(WEBHOOKS, wrong, idempotency_key="other").status_code for _ in range(2)} == {422}


def _fields(schemas, found, seen=()):
    """The names of all fields of a schema, with those of the schemas in it."""
    if isinstance(found, list):
        return {name for each in found for name in _fields(schemas, each, seen)}
    if not isinstance(found, dict):
        return set()
    name = found.get("$ref", "").rpartition("/")[2]
    inner = _fields(schemas, schemas[name], (*seen, name)) if name and name not in seen else set()
    return inner | set(found.get("properties", {})) | _fields(schemas, list(found.values()), seen)


def test_every_route_whose_answer_has_a_secret_is_marked_and_described():
    description = api().schema()
    marked = {name for name, one in api().operations.items() if hasattr(one.view_func, SHOWN_ONCE)}
    found, told = set(), set()
    for operation in (each for path in description["paths"].values() for each in path.values()):
        good = [answer for status, answer in operation["responses"].items() if int(status) < 300]
        if NAMES & _fields(description["components"]["schemas"], good):
            found.add(operation["operationId"])
        if "shown-once" in json.dumps(operation.get("parameters", [])):
            told.add(operation["operationId"])
    assert marked == found == told == MARKED
