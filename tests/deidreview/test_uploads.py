"""Large bodies are accepted only at upload URLs and from people with the right; others are refused unread."""

import io
import time

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from deidreview.body_size import REQUEST_BYTES
from deidreview.uploads import upload_limit
from tests.factories import make_member, make_project, make_user

pytestmark = pytest.mark.django_db
LARGE = REQUEST_BYTES + 1
FORM = "application/x-www-form-urlencoded"


class Body(io.BytesIO):
    was_read = False

    def read(self, *args):
        self.was_read = True
        return b""


def post(client, path, length=LARGE, *, read=False, **extra):
    body = Body()
    response = client.generic(
        "POST", path, b"", CONTENT_TYPE=FORM, CONTENT_LENGTH=str(length), **{"wsgi.input": body}, **extra
    )
    assert body.was_read == read
    return response


def session_of(user):
    client = Client()
    client.force_login(user)
    return dict(client.session)


@pytest.fixture
def project():
    return make_project("ward")


@pytest.fixture
def signed_in(project):
    client = Client()
    person = make_user("mia")
    make_member(project, "manager", person)
    client.force_login(person)
    return client


UPLOADS = ("import", "patients", "model_upload", "known", "known_lists", "injections")
# Everyone who can sign in may send files there; nothing of them is stored.
OF_NO_PROJECT = ("certificate_verify", "archive_import")


@pytest.mark.parametrize("name", UPLOADS)
def test_a_stranger_cannot_upload(project, name):
    response = post(Client(enforce_csrf_checks=True), reverse(name, args=[project.slug]))
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")
    json = post(Client(), reverse(name, args=[project.slug]), HTTP_ACCEPT="application/json")
    assert (json.status_code, json.json()) == (401, {"error": "signed-out"})


@pytest.mark.parametrize("name", UPLOADS)
def test_a_signed_in_manager_can_upload(project, signed_in, name):
    post(signed_in, reverse(name, args=[project.slug]), read=True)


@pytest.mark.parametrize("name", OF_NO_PROJECT)
def test_only_who_has_signed_in_can_upload_to_no_project(db, name):
    assert post(Client(), reverse(name))["Location"].startswith("/accounts/login/")
    client = Client()
    client.force_login(make_user("ann"))
    post(client, reverse(name), read=True)


@pytest.mark.parametrize("name", UPLOADS)
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
@pytest.mark.parametrize(("role", "status"), [("reviewer", 403), ("annotator", 403), ("viewer", 403), (None, 404)])
def test_people_without_the_right_are_refused_unread(project, name, accept, role, status):
    client = Client()
    client.force_login(make_member(project, role, "ann") if role else make_user("ann"))
    where = reverse(name, args=[project.slug])
    assert post(client, where, HTTP_ACCEPT=accept).status_code == status
    assert post(client, where.replace("ward", "nowhere"), HTTP_ACCEPT=accept).status_code == 404


@pytest.mark.parametrize("name", UPLOADS)
def test_a_manager_of_another_project_is_refused_unread(signed_in, name):
    make_project("other")
    assert post(signed_in, reverse(name, args=["other"])).status_code == 404


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_one_large_body_of_a_person_at_a_time(project, signed_in, accept):
    answers, told = [], []
    person, other = get_user_model().objects.get(username="mia"), make_member(project, "manager", "rita")
    where = reverse("import", args=[project.slug])

    def sent_by(user):
        request = RequestFactory().post(where, HTTP_ACCEPT=accept)
        request.META["CONTENT_LENGTH"] = str(LARGE)
        request.session = Client().session
        request.session.update(session_of(user))
        return request

    def view(request):
        if not answers:
            answers.append("busy")
            told.extend(limited(sent_by(user)) for user in (person, other))
        return HttpResponse()

    limited = upload_limit(view)
    assert limited(sent_by(person)).status_code == 200
    assert [answer.status_code for answer in told] == [429, 200]
    assert "Retry-After" in told[0].headers and "Another upload of yours" in told[0].content.decode()
    assert limited(sent_by(person)).status_code == 200, "the first has arrived"


def test_an_idle_session_is_not_accepted(project, signed_in):
    session = signed_in.session
    session["seen"] = int(time.time()) - 3600
    session.save()
    assert post(signed_in, reverse("import", args=[project.slug])).status_code == 302


def test_a_forged_session_is_not_accepted(project):
    client = Client()
    client.cookies["deidreview"] = "a" * 32
    assert post(client, reverse("import", args=[project.slug])).status_code == 302


@pytest.mark.parametrize("path", ["/accounts/login/", "/admin/login/", "/nowhere", "/healthz", "/"])
@pytest.mark.parametrize("known", [True, False])
def test_all_other_urls_accept_only_small_bodies(signed_in, path, known):
    response = post(signed_in if known else Client(), path)
    assert response.status_code == 413
    assert "A form can have at most 2.5 MB" in response.content.decode()


def test_a_usual_body_is_read_everywhere(signed_in):
    post(Client(), "/accounts/login/", REQUEST_BYTES, read=True)


def test_no_view_takes_uploads_unless_it_says_so():
    from django.urls import get_resolver

    from annotations.core.requests import UPLOADS as MARK

    def marked(patterns):
        for pattern in patterns:
            if hasattr(pattern, "url_patterns"):
                yield from marked(pattern.url_patterns)
            elif hasattr(pattern.callback, MARK):
                yield pattern.name

    assert sorted(marked(get_resolver().url_patterns)) == sorted([*UPLOADS, *OF_NO_PROJECT])
