"""A run with two suggestions, and requests to the review pages, for tests of review."""

import json
import uuid
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.models import Author, BulkAct, Document, Span, SuggestedString, User
from annotations.review.selectors.state import review_state
from annotations.review.services.deciding import Request
from annotations.review.services.deciding import decide as decide_by
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT, make_world, signed_in

NAMES = ("review_next", "review", "review_decide", "review_state", "review_finish", "review_reopen")
LOOKS = ("review_next", "review", "review_state")


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


def suggested_world(notes: int, text: str = TEXT, /, **runs: list[make.Spot]) -> SimpleNamespace:
    """Notes with these suggestions of each run (rules_1: the run rules-1), and a reviewer who is signed in."""
    world = make_world()
    world.runs = [make.make_author(world.project, kind="run", name=name.replace("_", "-")) for name in runs]
    world.run = world.runs[0]
    world.notes = [make.make_note(world.project, text, patient_id=f"p{n}") for n in range(notes)]
    for note, (run, spans) in product(world.notes, zip(world.runs, runs.values(), strict=True)):
        make.make_set(note, run, spans, submitted=True)
    world.spans = Span.objects.filter(annotation_set__author__in=world.runs)
    world.spans.update(confidence=0.95)
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    world.client = signed_in(world.rev)
    return world


def url(world: SimpleNamespace, name: str, *, slug: str = "covid", author: int | None = None, note: int = 0) -> str:
    args = [slug, world.run.pk if author is None else author]
    return reverse(name, args=args if name == "review_next" else [*args, note or world.note.pk])


def body(world: SimpleNamespace, act: str = "accept", *, user: object = None, **changes: object) -> dict[str, object]:
    known: dict[str, object] = {
        "act": act, "change_id": str(uuid.uuid4()), "person": (user or world.rev).pk, "suggestion": world.name.pk,
        "seen": ["open"],
    }  # fmt: skip
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


def review(note: Document, author: Author, user: User, act: Act, suggestion: object = None, **options: Any) -> Any:
    """Decide on a suggestion (a span or its id) in the review of the author's suggestions in a note."""
    about = {"change_id": uuid.uuid4(), "act": act, "suggestion": getattr(suggestion, "pk", suggestion)}
    return decide_by(document=note, author=author, user=user, request=Request(**(about | options)))


def suggestions(note: Document, author: Author) -> list[Span]:
    return list(Span.objects.filter(annotation_set__document=note, annotation_set__author=author).order_by("start"))


def gold_of(note: Document) -> list[make.Spot]:
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    return list(rows.order_by("start").values_list("start", "end", "label__name"))


def check_strings() -> None:
    """Check the counts by string, which leave out hidden leaks."""
    for row in SuggestedString.objects.all():
        alike = {"annotation_set__author": row.author_id, "string_key": row.string_key, "label": row.label_id}
        spans = Span.objects.filter(**alike).exclude(planted__result="")
        assert (row.count, row.open) == (spans.count(), spans.filter(decision__isnull=True).count())


class Reviews:
    """What people do in reviews of a note (`note`) with suggestions of a run (`run`); `rita` if nobody is named."""

    def suggestion(self, start: int, note: Document | None = None, run: Author | None = None) -> Span:
        return next(span for span in suggestions(note or self.note, run or self.run) if span.start == start)

    def decide(
        self, user: User, act: Act, start: int | None = None, note: Document | None = None, **options: Any
    ) -> Any:
        suggestion = None if start is None else self.suggestion(start, note)
        return review(note or self.note, self.run, user, act, suggestion, **options)

    def refused(self, *given: Any, **options: Any) -> str:
        """The code of the error."""
        with pytest.raises(ServiceError) as error:
            self.decide(*given, **options)
        return error.value.code

    def finish(self, user: User | None = None, note: Document | None = None, **options: Any) -> Any:
        return finish_review(document=note or self.note, author=self.run, user=user or self.rita, **options)

    def state(self, user: User | None = None, note: Document | None = None) -> Any:
        return review_state(document=note or self.note, author=self.run, user=user or self.rita)


def data_of(answer: HttpResponse) -> Any:
    """The data of a review page."""
    return json.loads(answer.content.decode().split('id="review-data" type="application/json">')[1].split("<")[0])


# What follows takes a world with the runs `runs` and a client `client`.


def plan(world: SimpleNamespace, **data: object) -> BulkAct:
    """Plan a bulk act on the page, by default with the suggestions of the first run from 90% on."""
    known = {"kind": "threshold", "runs": [world.runs[0].pk], "least": "90", "agree": "2", "act": "accept"}
    assert world.client.post(reverse("review_bulk_new", args=["covid"]), known | data).status_code == 303
    return BulkAct.objects.order_by("created_at").last()


def bulk_page(world: SimpleNamespace, bulk: BulkAct) -> str:
    return check_page(world.client.get(reverse("review_bulk", args=["covid", bulk.pk])))


def start(world: SimpleNamespace, bulk: BulkAct, name: str = "bulk_start", **data: object) -> BulkAct:
    """Start a bulk act, or undo it (`bulk_undo`)."""
    assert world.client.post(reverse(name, args=["covid", bulk.pk]), data).status_code == 302
    return make.reread(bulk)


def finish(world: SimpleNamespace, note: Document, run: int = 0, **data: object) -> SimpleNamespace:
    address = reverse("review_finish", args=["covid", world.runs[run].pk, note.pk])
    return send(world.client, address, {"person": world.rev.pk, "stage": "first"} | data)
