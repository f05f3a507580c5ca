"""Large bodies are accepted only at upload URLs and from people with the right; others are refused unread."""

import io
import time

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import get_resolver, reverse

from annotations.core.requests import UPLOADS as MARK
from deidreview import REQUEST_BYTES
from deidreview.middleware import upload_limit
from tests.factories import make_member, make_project, make_user
from tests.worlds.pages import signed_in as browser_of

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
def signed_in(project):
    return browser_of(make_member(project, "manager", make_user("mia")))


UPLOADS = (
    "import", "pairs", "recording_import", "patients", "model_upload", "known", "known_lists", "injections", "records",
    "record_schemas",
)  # fmt: skip
# Everyone who can sign in may send files there; nothing of them is stored.
OF_NO_PROJECT = ("certificate_verify", "archive_import", "project_new")


@pytest.mark.parametrize("name", UPLOADS)
def test_only_a_manager_can_upload_and_others_are_refused_unread(project, signed_in, name):
    where = reverse(name, args=[project.slug])
    post(signed_in, where, read=True)
    make_project("other")
    assert post(signed_in, reverse(name, args=["other"])).status_code == 404
    assert post(Client(enforce_csrf_checks=True), where)["Location"].startswith("/accounts/login/")
    json = post(Client(), where, HTTP_ACCEPT="application/json")
    assert (json.status_code, json.json()) == (401, {"error": "signed-out"})
    for role, status in (("reviewer", 403), ("annotator", 403), ("viewer", 403), (None, 404)):
        client = browser_of(make_member(project, role) if role else make_user("out"))
        for accept in ("application/json", "text/html"):
            assert post(client, where, HTTP_ACCEPT=accept).status_code == status
            assert post(client, where.replace("ward", "nowhere"), HTTP_ACCEPT=accept).status_code == 404


@pytest.mark.parametrize("name", OF_NO_PROJECT)
def test_only_who_has_signed_in_can_upload_to_no_project(db, name):
    assert post(Client(), reverse(name))["Location"].startswith("/accounts/login/")
    post(browser_of(make_user("ann")), reverse(name), read=True)


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_one_large_body_of_a_person_at_a_time(project, signed_in, accept):
    answers, told = [], []
    person, other = get_user_model().objects.get(username="mia"), make_member(project, "manager", "rita")
    where = reverse("import", args=[project.slug])

    def sent_by(user):
        request = RequestFactory().post(where, HTTP_ACCEPT=accept)
        request.META["CONTENT_LENGTH"] = str(LARGE)
        request.session = Client().session
        request.session.update(browser_of(user).session)
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


def test_an_idle_or_forged_session_is_not_accepted(project, signed_in):
    session, forged = signed_in.session, Client()
    session["seen"] = int(time.time()) - 3600
    session.save()
    forged.cookies["deidreview"] = "a" * 32
    for client in (signed_in, forged):
        assert post(client, reverse("import", args=[project.slug])).status_code == 302


def test_all_other_urls_accept_only_small_bodies(signed_in):
    for path in ("/accounts/login/", "/admin/login/", "/nowhere", "/healthz", "/"):
        assert {post(client, path).status_code for client in (signed_in, Client())} == {413}
    post(Client(), "/accounts/login/", REQUEST_BYTES, read=True)


def test_no_view_takes_uploads_unless_it_says_so():
    def marked(patterns):
        for pattern in patterns:
            if hasattr(pattern, "url_patterns"):
                yield from marked(pattern.url_patterns)
            elif hasattr(pattern.callback, MARK):
                yield pattern.name

    assert sorted(marked(get_resolver().url_patterns)) == sorted([*UPLOADS, *OF_NO_PROJECT])
