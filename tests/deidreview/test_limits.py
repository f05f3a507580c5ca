"""Limits on requests by person and by address in a time window, and on the threads of one person."""

import asyncio
import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from deidreview.limits import RequestLimits, Threads, windows
from deidreview.mcp_server import Door
from tests import factories as make
from tests.waiting import HANGS
from tests.worlds.pages import signed_in


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock, so that no window ends in the middle of a test."""
    monkeypatch.setattr("deidreview.limits.time", SimpleNamespace(time=lambda: 1_000_003.0))


@pytest.mark.django_db
def test_a_person_beyond_the_limit_gets_an_explanation(settings: Any, client: Client) -> None:
    settings.REQUESTS_PER_WINDOW = 3
    ann, ben = make.make_user(), make.make_user()
    client.force_login(ann)
    assert [client.get(reverse("projects")).status_code for _ in range(4)] == [200, 200, 200, 429]
    page = client.get(reverse("projects"))
    assert "too many requests at once" in page.content.decode() and page.headers["Retry-After"] == "7"
    fragment = client.get(reverse("projects"), headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.headers["Content-Type"]) == (429, "text/plain; charset=utf-8")
    script = client.get(reverse("projects"), headers={"Accept": "application/json"})
    assert (script.status_code, script.json()["error"]) == (429, "requests")
    # Other people are not affected, and neither is the load balancer.
    other = signed_in(ben)
    assert other.get(reverse("projects")).status_code == 200
    assert client.get(reverse("healthz")).status_code == 200


@pytest.mark.django_db
def test_strangers_are_counted_by_address_and_a_form_as_ten(settings: Any, client: Client) -> None:
    settings.ANONYMOUS_PER_WINDOW = 20
    login = reverse("account_login")
    assert client.get(login).status_code == 200
    assert client.post(login, {"login": "x", "password": "y"}).status_code == 200
    assert client.post(login, {"login": "x", "password": "y"}).status_code == 429
    assert client.get(login, REMOTE_ADDR="10.1.2.3").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_strangers_at_the_mcp_server_are_counted_too(settings: Any) -> None:
    settings.ANONYMOUS_PER_WINDOW = 2

    def ask() -> tuple[int, dict[bytes, bytes]]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        request = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "client": ("127.0.0.1", 1)}
        asyncio.run(Door(HttpResponse)(request, receive, send))  # type: ignore[arg-type]  # no answer gets that far
        return sent[0]["status"], dict(sent[0]["headers"])

    answers = [ask() for _ in range(3)]
    assert [status for status, _ in answers] == [401, 401, 429]
    assert int(answers[-1][1][b"retry-after"]) >= 1


@pytest.mark.django_db
def test_a_new_window_starts_at_zero(settings: Any, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REQUESTS_PER_WINDOW = 1
    client.force_login(make.make_user())
    assert [client.get(reverse("projects")).status_code for _ in range(2)] == [200, 429]
    monkeypatch.setattr("deidreview.limits.time", SimpleNamespace(time=lambda: 1_000_013.0))
    assert client.get(reverse("projects")).status_code == 200


def test_forked_processes_share_one_count() -> None:
    windows.count(5)
    child = os.fork()
    if child == 0:
        windows.count(5)
        os._exit(0)
    os.waitpid(child, 0)
    assert windows.count(5) == 3


def person(pk: int) -> Any:
    request = RequestFactory().get("/", headers={"Accept": "application/json"})
    request.user = SimpleNamespace(pk=pk, is_authenticated=True) if pk else AnonymousUser()
    return request


def test_nobody_gets_all_threads(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deidreview.limits.PATIENCE", 0.2)
    settings.WEB_THREADS = 4
    go_on, inside = threading.Event(), threading.Semaphore(0)

    def slow(request: Any) -> HttpResponse:
        if request.user.pk == 1:
            inside.release()
            assert go_on.wait(HANGS)
        return HttpResponse()

    limits = RequestLimits(slow)
    found: list[int] = []
    held = [threading.Thread(target=lambda: found.append(limits(person(1)).status_code)) for _ in range(2)]
    for thread in held:
        thread.start()
        assert inside.acquire(timeout=HANGS)
    assert limits(person(1)).status_code == 429
    assert limits(person(2)).status_code == 200
    go_on.set()
    for thread in held:
        thread.join(HANGS)
    assert found == [200, 200]
    assert limits(person(1)).status_code == 200


def test_a_third_request_waits_for_another_of_the_same_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deidreview.limits.PATIENCE", HANGS)
    threads = Threads(4)
    assert threads.take(1) and threads.take(1)
    threading.Timer(0.05, lambda: threads.give_back(1)).start()
    began = time.monotonic()
    assert threads.take(1)
    assert time.monotonic() - began < HANGS / 2  # woken up, not timed out
    assert not threads._waiting
