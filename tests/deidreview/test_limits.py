"""Limits on requests by person, address and threads; large bodies only at upload URLs from people with the right."""

import asyncio
import io
import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import get_resolver, reverse

from annotations.core.requests import UPLOADS as MARK
from deidreview import REQUEST_BYTES
from deidreview.limits import RequestLimits, Threads, windows
from deidreview.mcp_server import Door
from deidreview.middleware import upload_limit
from tests import factories as make
from tests.factories import make_member, make_project, make_user
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
    assert signed_in(ben).get(reverse("projects")).status_code == 200
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


# ── Large bodies are accepted only at upload URLs and from people with the right; others are refused unread ──


pytestmark = pytest.mark.django_db
LARGE = REQUEST_BYTES + 1


class Body(io.BytesIO):
    was_read = False

    def read(self, *args):
        self.was_read = True
        return b""


def post(client, path, length=LARGE, *, read=False, **extra):
    body = Body()
    form = {"CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": str(length), "wsgi.input": body}
    response = client.generic("POST", path, b"", **form, **extra)
    assert body.was_read == read
    return response


@pytest.fixture
def project():
    return make_project("ward")


@pytest.fixture
def mia(project):
    return signed_in(make_member(project, "manager", make_user("mia")))


UPLOADS = (
    "import", "pairs", "recording_import", "patients", "model_upload", "known", "known_lists", "injections", "records",
    "record_schemas",
)  # fmt: skip
# Everyone who can sign in may send files there; nothing of them is stored.
OF_NO_PROJECT = ("certificate_verify", "archive_import", "project_new")


@pytest.mark.parametrize("name", UPLOADS)
def test_only_a_manager_can_upload_and_others_are_refused_unread(project, mia, name):
    where = reverse(name, args=[project.slug])
    post(mia, where, read=True)
    make_project("other")
    assert post(mia, reverse(name, args=["other"])).status_code == 404
    assert post(Client(enforce_csrf_checks=True), where)["Location"].startswith("/accounts/login/")
    json = post(Client(), where, HTTP_ACCEPT="application/json")
    assert (json.status_code, json.json()) == (401, {"error": "signed-out"})
    for role, status in (("reviewer", 403), ("annotator", 403), ("viewer", 403), (None, 404)):
        client = signed_in(make_member(project, role) if role else make_user("out"))
        for accept in ("application/json", "text/html"):
            assert post(client, where, HTTP_ACCEPT=accept).status_code == status
            assert post(client, where.replace("ward", "nowhere"), HTTP_ACCEPT=accept).status_code == 404


@pytest.mark.parametrize("name", OF_NO_PROJECT)
def test_only_who_has_signed_in_can_upload_to_no_project(db, name):
    assert post(Client(), reverse(name))["Location"].startswith("/accounts/login/")
    post(signed_in(make_user("ann")), reverse(name), read=True)


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_one_large_body_of_a_person_at_a_time(project, mia, accept):
    answers, told = [], []
    person, other = get_user_model().objects.get(username="mia"), make_member(project, "manager", "rita")
    where = reverse("import", args=[project.slug])

    def sent_by(user):
        request = RequestFactory().post(where, HTTP_ACCEPT=accept)
        request.META["CONTENT_LENGTH"] = str(LARGE)
        request.session = Client().session
        request.session.update(signed_in(user).session)
        return request

    def view(request):
        if not answers:
            answers.append("busy")
            told.extend(limited(sent_by(user)) for user in (person, other))
        return HttpResponse()

    limited = upload_limit(view)
    assert limited(sent_by(person)).status_code == 200
    assert [answer.status_code for answer in told] == [429, 200]
    assert "Retry-After" in told[0].headers
    assert limited(sent_by(person)).status_code == 200, "the first has arrived"


def test_an_idle_or_forged_session_is_not_accepted(project, mia):
    session, forged = mia.session, Client()
    session["seen"] = int(time.time()) - 3600
    session.save()
    forged.cookies["deidreview"] = "a" * 32
    for client in (mia, forged):
        assert post(client, reverse("import", args=[project.slug])).status_code == 302


def test_all_other_urls_accept_only_small_bodies(mia):
    for path in ("/accounts/login/", "/admin/login/", "/nowhere", "/healthz", "/"):
        assert {post(client, path).status_code for client in (mia, Client())} == {413}
    post(Client(), "/accounts/login/", REQUEST_BYTES, read=True)


def test_no_view_takes_uploads_unless_it_says_so():
    def marked(patterns):
        for pattern in patterns:
            if hasattr(pattern, "url_patterns"):
                yield from marked(pattern.url_patterns)
            elif hasattr(pattern.callback, MARK):
                yield pattern.name

    assert sorted(marked(get_resolver().url_patterns)) == sorted([*UPLOADS, *OF_NO_PROJECT])
