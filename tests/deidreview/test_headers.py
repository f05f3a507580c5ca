"""Every kind of response has the same protection: pages, redirects, errors, JSON, files, the admin."""

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import Client
from django.urls import include, path

from tests.factories import make_user


def broken(request):
    raise ValueError("Mario Rossi")


def closed(request):
    raise PermissionDenied


def malformed(request):
    raise SuspiciousOperation("Mario Rossi")


urlpatterns = [
    path("broken", broken),
    path("closed", closed),
    path("malformed", malformed),
    path("json", lambda request: JsonResponse({})),
    path("stream", lambda request: StreamingHttpResponse([b"a"])),
    path("cached", lambda request: HttpResponse(headers={"Cache-Control": "public, max-age=3600"})),
    path("", include("deidreview.urls")),
]
handler400 = "deidreview.views.bad_request"
handler403 = "deidreview.views.forbidden"
handler404 = "deidreview.views.not_found"
handler500 = "deidreview.views.failed"

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

KINDS = [
    ("a page", "/accounts/password/change/", 200),
    ("the admin", "/admin/", 200),
    ("a redirect", "/accounts/login/", 302),
    ("not found", "/nowhere", 404),
    ("forbidden", "/closed", 403),
    ("a bad request", "/malformed", 400),
    ("an error", "/broken", 500),
    ("JSON", "/json", 200),
    ("a stream", "/stream", 200),
    ("health", "/healthz", 200),
    ("a view that would be cached", "/cached", 200),
]


@pytest.fixture
def admin(db):
    client = Client(raise_request_exception=False)
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize(("kind", "url", "status"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_headers(admin, kind, url, status):
    response = admin.get(url)
    assert response.status_code == status
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in response.headers["Permissions-Policy"]
    assert "Server" not in response.headers


@pytest.mark.parametrize(("kind", "url", "status"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_content_security_policy(admin, kind, url, status):
    policy = dict(
        part.split(maxsplit=1) for part in admin.get(url).headers["Content-Security-Policy"].split("; ") if part
    )
    assert policy["default-src"] == policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy) and "http" not in str(policy)


def test_a_page_without_sign_in_has_nothing_inline(admin):
    """The policy would block inline scripts, styles and handlers."""
    import re

    for url in (
        "/accounts/login/",
        "/accounts/password/change/",
        "/accounts/2fa/",
        "/nowhere",
        "/broken",
        "/malformed",
    ):
        for client in (admin, Client(raise_request_exception=False)):
            page = client.get(url).content.decode()
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page), url
            assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page), url


def test_static_files_have_the_policy_and_may_be_cached(tmp_path, settings):
    (tmp_path / "a.css").write_text("a{}")
    settings.STATIC_ROOT = str(tmp_path)
    response = Client().get("/static/a.css")
    assert response.status_code == 200
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "no-store" not in response.headers["Cache-Control"]
