"""A run with two suggestions, and requests to the review pages, for tests of review."""

import json
import uuid
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import Span
from tests import factories as make

NAMES = ("review_next", "review", "review_decide", "review_state", "review_finish", "review_reopen")
LOOKS = ("review_next", "review", "review_state")
JSON = ("review_decide", "review_state", "review_finish", "review_reopen")


@pytest.fixture
def suggested(world: SimpleNamespace) -> SimpleNamespace:
    """A run with two suggestions on the first note, which has not processed the second note."""
    run = make.make_author(world.project, kind="run", name="rules-1")
    annotation_set = make.make_set(world.note, run, [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")], submitted=True)
    Span.objects.filter(annotation_set=annotation_set).update(confidence=0.8, source="rule.of.mine")
    world.run = run
    world.name, world.place = annotation_set.spans.order_by("start")
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    return world


def url(world: SimpleNamespace, name: str, *, slug: str = "covid", author: int | None = None, note: int = 0) -> str:
    args = [slug, world.run.pk if author is None else author]
    return reverse(name, args=args if name == "review_next" else [*args, note or world.note.pk])


def body(world: SimpleNamespace, act: str = "accept", *, user: object = None, **changes: object) -> dict[str, object]:
    known: dict[str, object] = {
        "act": act,
        "change_id": str(uuid.uuid4()),
        "person": (user or world.rev).pk,
        "suggestion": world.name.pk,
        "seen": ["open"],
    }
    return known | changes


def send(client: Client, address: str, data: object) -> SimpleNamespace:
    answer = client.post(
        address, data if isinstance(data, bytes) else json.dumps(data), content_type="application/json"
    )
    return SimpleNamespace(status=answer.status_code, json=answer.json())


@pytest.fixture
def decide(suggested: SimpleNamespace, sign_in: type):
    client = sign_in(suggested.rev)
    return lambda act="accept", **changes: send(
        client, url(suggested, "review_decide"), body(suggested, act, **changes)
    )


def ask(client: Client, name: str, world: SimpleNamespace, user: object, **where: object) -> object:
    address = url(world, name, **where)
    if name in LOOKS:
        return client.get(address)
    return client.post(address, json.dumps(body(world, user=user)), content_type="application/json")
