"""What the boundary refuses, and how it says so: to a page, to a fragment, to a script."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Label, Project
from tests.factories import label_of, make_member, make_note, make_project

pytestmark = pytest.mark.django_db
HUGE = "9" * 5_000


@pytest.fixture
def project() -> Project:
    return make_project("covid")


@pytest.fixture
def manager(project) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_member(project, "manager", "mia"))
    return client


def test_a_form_with_nul_is_refused_with_a_page_that_says_so(manager):
    answer = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"})
    assert answer.status_code == 400
    assert all(words in answer.content.decode() for words in ("holds a character that can", "What was kept", "NUL"))


def test_a_fragment_and_a_script_are_told_in_their_way(manager):
    fragment = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"}, headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.headers["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert fragment.content.decode().startswith("A field holds a character that can't be kept")
    script = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"}, headers={"Accept": "application/json"})
    assert (script.status_code, script.json()["error"]) == (400, "malformed")


@pytest.mark.parametrize("where", ["/projects/covid/?a=%00", "/projects/covid/?%00=a", "/projects/%00/"])
def test_nul_in_an_address(manager, where):
    assert manager.get(where).status_code == 400


def test_a_number_that_no_column_holds_is_no_address(manager):
    for number in (2**63, "9" * 400, HUGE):
        assert manager.get(f"/projects/covid/notes/{number}/").status_code == 404


def test_a_bad_cookie_is_left_out_and_signs_nobody_in(project):
    answer = Client(raise_request_exception=False).get("/projects/covid/", HTTP_COOKIE='deidreview="\\000"')
    assert answer.status_code == 302


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


# ── Whose page it is ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def note(project):
    person = make_member(project, "annotator", "ann")
    return make_note(project, readers=[person]), person


@pytest.mark.parametrize("route", ["submit", "reopen", "changes", "comments", "flag"])
@pytest.mark.parametrize(
    ("person", "status"), [("absent", 400), (None, 409), (True, 409), ("1", 409), (1.0, 409), (10**6, 409)]
)
def test_json_says_whose_page_it_is(note, route, person, status):
    document, signed_in = note
    client = Client()
    client.force_login(signed_in)
    body = {} if person == "absent" else {"person": signed_in.pk + 0.0 if person == 1.0 else person}
    answer = client.post(reverse(route, args=["covid", document.pk]), json.dumps(body), content_type="application/json")
    assert answer.status_code == status
    assert answer.json()["error"] == ("malformed" if status == 400 else "person")
    assert not AnnotationSet.objects.exists()


def test_json_to_a_page_without_json_is_looked_at_too(note):
    """Such a page acts on forms; a script must not get there as somebody else."""
    _, signed_in = note
    client = Client()
    client.force_login(signed_in)
    address = reverse("keys", args=["covid"])
    assert client.post(address, "{}", content_type="application/json").status_code == 400


def test_what_is_no_json_by_its_type(note):
    document, signed_in = note
    client = Client()
    client.force_login(signed_in)
    answer = client.post(reverse("changes", args=["covid", document.pk]), "{}", content_type="text/plain")
    assert (answer.status_code, answer.json()["error"]) == (415, "malformed")


def test_a_large_body_of_json(note, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    document, signed_in = note
    client = Client()
    client.force_login(signed_in)
    body = json.dumps({"person": signed_in.pk, "quote": "x" * 200})
    answer = client.post(reverse("changes", args=["covid", document.pk]), body, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]) == (413, "too-large")
