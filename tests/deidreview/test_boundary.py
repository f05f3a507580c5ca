"""Requests that the boundary refuses, and its responses for pages, fragments and scripts."""

import json
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Label, Project
from tests.factories import label_of, make_member, make_note, make_project
from tests.worlds.pages import signed_in

HUGE = "9" * 5_000


@pytest.fixture
def project(db) -> Project:
    return make_project("covid")


@pytest.fixture
def manager(project) -> Client:
    return signed_in(make_member(project, "manager", "mia"), raise_request_exception=False)


def test_a_form_with_nul_is_refused_with_a_page_or_text_or_json(manager):
    page, fragment, script = (
        manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"}, headers=headers)
        for headers in ({}, {"HX-Request": "true"}, {"Accept": "application/json"})
    )
    assert {page.status_code, fragment.status_code, script.status_code} == {400}
    assert all(words in page.content.decode() for words in ("What happened", "Your data", "NUL"))
    assert fragment.headers["Content-Type"] == "text/plain; charset=utf-8" and script.json()["error"] == "malformed"


def test_urls_and_cookies_that_no_database_could_take(manager):
    for where in ("/projects/covid/?a=%00", "/projects/covid/?%00=a", "/projects/%00/"):
        assert manager.get(where).status_code == 400, where
    for number in (2**63, "9" * 400, HUGE):
        assert manager.get(f"/projects/covid/notes/{number}/").status_code == 404
    stranger = Client(raise_request_exception=False)
    assert stranger.get("/projects/covid/", HTTP_COOKIE='deidreview="\\000"').status_code == 302


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"]
)
def test_only_utf_8(manager, kind):
    answer = manager.post(reverse("labels", args=["covid"]), "a", content_type=f"{kind}; charset=utf-16")
    assert answer.status_code == 415


def test_text_of_any_script_passes(manager, project):
    category = label_of(project, "CITY").category_id
    sent = {"name": "עיר Ward", "category": category, "description": "\u202eعربي 😀"}
    assert manager.post(reverse("labels", args=["covid"]), sent).status_code == 302
    assert Label.objects.get(name="עיר Ward").description == "\u202eعربي 😀"


# ── The person of a page ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ann(project):
    """An annotator: `ann.send(route, body)` posts to a page of the note."""
    person, client = make_member(project, "annotator", "ann"), Client()
    note = make_note(project, annotators=[person])
    client.force_login(person)

    def send(route, body, content_type="application/json"):
        args = ["covid"] if route == "keys" else ["covid", note.pk]
        body = body if isinstance(body, str) else json.dumps(body)
        return client.post(reverse(route, args=args), body, content_type=content_type)

    return SimpleNamespace(pk=person.pk, send=send)


@pytest.mark.parametrize("route", ["start_annotations", "submit", "reopen", "changes", "comments", "flag"])
def test_json_names_the_person_of_its_page(ann, route):
    bodies = [({}, 400), *(({"person": other}, 409) for other in (None, True, "1", ann.pk + 0.0, 10**6))]
    for body, status in bodies:
        answer = ann.send(route, body)
        assert (answer.status_code, answer.json()["error"]) == (status, "malformed" if status == 400 else "person")
    assert not AnnotationSet.objects.exists()


def test_json_elsewhere_and_json_that_is_not_read(ann, settings):
    # The page “keys” reads forms, but a script must not reach it as another person.
    assert ann.send("keys", "{}").status_code == 400
    answer = ann.send("changes", "{}", content_type="text/plain")
    assert (answer.status_code, answer.json()["error"]) == (415, "malformed")
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = ann.send("changes", {"person": ann.pk, "quote": "x" * 200})
    assert (answer.status_code, answer.json()["error"]) == (413, "too-large")
