"""Saving a span passes all checks, but no middleware that only pages, forms and programs need; other requests all."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve

from annotations.models import Span
from deidreview import middleware
from tests.annotate.conftest import create
from tests.worlds.pages import signed_in, url
from tests.worlds.signing_in import clock

__all__ = ["clock"]

pytestmark = pytest.mark.django_db
# By what each leaves on a request; AxesMiddleware leaves nothing and is counted.
TRACES = {"_messages": "messages", "allauth": "allauth", "htmx": "htmx"}


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the requests that pass AxesMiddleware."""
    passed: list[str] = []
    known = middleware.import_string("axes.middleware.AxesMiddleware")
    before = known.__call__
    monkeypatch.setattr(known, "__call__", lambda self, request: passed.append(request.path) or before(self, request))
    return passed


def span(world: SimpleNamespace, **over: Any) -> dict[str, Any]:
    return create(world.note, world.labels, "Mario Rossi", "PATIENT") | {"person": world.ann.pk} | over


def send(client: Client, page: str, world: SimpleNamespace, data: Any, **more: Any) -> HttpResponse:
    return client.post(url(page, world.note.pk), json.dumps(data), content_type="application/json", **more)


def traces(answer: Any) -> set[str]:
    return {name for trace, name in TRACES.items() if hasattr(answer.wsgi_request, trace)}


def test_saving_a_span_passes_none_of_them_and_has_all_headers(
    world: SimpleNamespace, ann: Client, axes: list[str]
) -> None:
    ann.raise_request_exception = False
    answer, page = send(ann, "changes", world, span(world)), ann.get(url("annotate", world.note.pk))
    assert (answer.status_code, Span.objects.count(), traces(answer)) == (200, 1, set())
    assert (traces(page), axes) == ({"messages", "allauth", "htmx"}, [page.wsgi_request.path])
    dynamic = ("X-Request-ID", "Content-Type", "Content-Length", "Vary")
    assert dict(answer.headers) | dict.fromkeys(dynamic) == dict(page.headers) | dict.fromkeys(dynamic)


def test_forms_and_all_other_addresses_pass_all(world: SimpleNamespace, ann: Client, axes: list[str]) -> None:
    answers = [
        ann.post(url("submit", world.note.pk)),
        send(ann, "annotate", world, span(world)),
        ann.post("/accounts/login/", "{}", content_type="application/json"),
        ann.put(url("changes", world.note.pk), "{}", content_type="application/json"),
    ]
    assert [traces(answer) for answer in answers] == [{"messages", "allauth", "htmx"}] * 4
    assert len(axes) == 4


def test_every_check_stays(world: SimpleNamespace, ann: Client, settings: Any, clock: Any) -> None:
    strict = signed_in(world.ann, enforce_csrf_checks=True)
    assert send(strict, "changes", world, span(world)).json() == {"error": "stale-page"}
    assert send(Client(), "changes", world, span(world)).status_code == 401
    for person, status in ((world.out, 404), (world.vic, 403)):
        assert send(signed_in(person), "changes", world, span(world, person=person.pk)).status_code == status
    assert send(ann, "changes", world, span(world, person=world.ben.pk)).json()["error"] == "person"
    assert send(ann, "changes", world, span(world, quote="\0")).json()["error"] == "malformed"
    assert send(ann, "changes", world, span(world), headers={"X-Forwarded-For": "\0"}).status_code == 400
    assert send(ann, "changes", world, {"text": "x" * 3_000_000}).status_code == 413
    settings.SECOND_FACTOR = True
    assert send(ann, "changes", world, span(world)).status_code == 403
    settings.SECOND_FACTOR = False
    settings.REQUESTS_PER_WINDOW = 0
    assert send(ann, "changes", world, span(world)).status_code == 429
    settings.REQUESTS_PER_WINDOW = 1000
    clock.forward(minutes=settings.IDLE_MINUTES + 1)
    assert send(ann, "changes", world, span(world)).json() == {"error": "signed-out"}
    assert not Span.objects.exists()


def test_the_short_way_leaves_out_what_the_settings_name(settings: Any) -> None:
    assert set(middleware.NOT_FOR_WORK) <= set(settings.MIDDLEWARE)
    handler = middleware.ShortWay()
    handler.load_middleware()
    kept = [middleware.import_string(each) for each in settings.MIDDLEWARE if each not in middleware.NOT_FOR_WORK]
    views = [each for each in kept if hasattr(each, "process_view")]
    assert [type(each.__self__) for each in handler._view_middleware or ()] == views


@pytest.mark.parametrize(
    "path", ["notes/7/changes", "notes/7/submit", "notes/7/flag", "review/3/7/decide", "adjudicate/7/decide"]
)
def test_its_addresses_are_pages_of_a_project(path: str) -> None:
    assert middleware._WORK.fullmatch(f"/projects/covid/{path}")
    assert resolve(f"/projects/covid/{path}").kwargs["slug"] == "covid"
    assert not middleware._WORK.fullmatch(f"/projects/covid/{path}/")
