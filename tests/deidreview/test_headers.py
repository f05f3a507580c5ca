"""Pages, redirects, errors, JSON, files and the admin have the same protection, and error pages say what happened."""

import re

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import Client
from django.urls import include, path

from deidreview import views
from tests.factories import make_user
from tests.worlds.pages import signed_in


def broken(request):
    raise ValueError("Mario Rossi")


def closed(request):
    raise PermissionDenied


def malformed(request):
    raise SuspiciousOperation("Mario Rossi")


urlpatterns = [
    path("broken", broken), path("closed", closed), path("malformed", malformed),
    path("json", lambda request: JsonResponse({})), path("stream", lambda request: StreamingHttpResponse([b"a"])),
    path("cached", lambda request: HttpResponse(headers={"Cache-Control": "public, max-age=3600"})),
    path("", include("deidreview.urls")),
]  # fmt: skip
handler400 = "deidreview.views.bad_request"
handler403 = "deidreview.views.forbidden"
handler404 = "deidreview.views.not_found"
handler500 = "deidreview.views.failed"

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
STATUS = {
    "/accounts/password/change/": 200, "/admin/": 200, "/accounts/login/": 302, "/nowhere": 404, "/closed": 403,
    "/malformed": 400, "/broken": 500, "/json": 200, "/stream": 200, "/healthz": 200, "/cached": 200,
}  # fmt: skip
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip
TOLD = [b"What happened", b"Your data", b"What to do"]


@pytest.fixture
def admin(db):
    return signed_in(make_user("root", is_staff=True, is_superuser=True), raise_request_exception=False)


@pytest.mark.parametrize("url", STATUS)
def test_headers_and_content_security_policy(admin, url):
    response = admin.get(url)
    assert response.status_code == STATUS[url]
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    assert "camera=()" in response.headers["Permissions-Policy"] and "Server" not in response.headers
    parts = response.headers["Content-Security-Policy"].split("; ")
    policy = dict(part.split(maxsplit=1) for part in parts if part)
    assert policy["default-src"] == policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy) and "http" not in str(policy)


def test_a_page_has_nothing_inline(admin):
    """The policy would block inline scripts, styles and handlers."""
    for url in (
        "/accounts/login/", "/accounts/password/change/", "/accounts/2fa/", "/nowhere", "/broken", "/malformed",
    ):  # fmt: skip
        for client in (admin, Client(raise_request_exception=False)):
            page = client.get(url).content.decode()
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page), url
            assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page), url


def test_static_files_have_the_policy_and_may_be_cached(tmp_path, settings):
    (tmp_path / "a.css").write_text("a{}")
    settings.STATIC_ROOT = str(tmp_path)
    response = Client().get("/static/a.css")
    assert response.status_code == 200 and response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "no-store" not in response.headers["Cache-Control"]


# ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "code"),
    [("/malformed", "bad-request"), ("/closed", "forbidden"), ("/nowhere", "not-found"), ("/broken", "failed")],
)
def test_error_pages_say_what_happened_what_was_kept_and_what_to_do(admin, url, code):
    page = admin.get(url)
    assert page.status_code == STATUS[url] and all(words in page.content for words in TOLD)
    assert b"Mario" not in page.content and b"Traceback" not in page.content
    script = admin.get(url, headers={"Accept": "application/json"})
    assert script.status_code == STATUS[url] and script.json() == {"error": code}


def test_strangers_get_the_same_404_and_a_wrong_host_name_is_explained(client, settings):
    assert client.get("/nowhere").status_code == 404
    settings.ALLOWED_HOSTS = ["right.example"]
    response = client.get("/nowhere", headers={"host": "wrong.example"})
    assert response.status_code == 400 and b"DEIDREVIEW_HOSTS" in response.content


@pytest.mark.parametrize("template", [True, False])
def test_the_500_page_needs_no_database_and_not_even_its_template(rf, django_db_blocker, monkeypatch, template):
    if not template:
        monkeypatch.setattr(views, "render_to_string", lambda *args: 1 / 0)
    with django_db_blocker.block():
        response = views.failed(rf.get("/"))
    assert response.status_code == 500 and b"Server error" in response.content


def test_a_form_without_its_token_says_that_the_page_is_stale():
    strict = signed_in(make_user(), enforce_csrf_checks=True)
    page = strict.post("/accounts/password/change/", {"oldpassword": "x"})
    assert page.status_code == 403 and b"out of date" in page.content and all(words in page.content for words in TOLD)
    json = strict.post("/accounts/password/change/", "{}", content_type="application/json")
    assert json.status_code == 403 and json.json() == {"error": "stale-page"}


def test_too_many_wrong_old_passwords_get_our_error_page(admin):
    for _ in range(6):
        response = admin.post("/accounts/password/change/", {"oldpassword": "wrong"})
    assert response.status_code == 429 and all(words in response.content for words in TOLD)
