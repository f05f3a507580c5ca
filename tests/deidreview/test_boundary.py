"""Requests that the boundary refuses, and its responses for pages, fragments and scripts."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Label, Project, User
from tests.factories import label_of, make_member, make_note, make_project, make_user

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


def test_a_form_with_nul_is_refused_with_an_error_page(manager):
    answer = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"})
    assert answer.status_code == 400
    assert all(words in answer.content.decode() for words in ("contains a character that can", "Your data", "NUL"))


def test_a_fragment_gets_text_and_a_script_gets_json(manager):
    fragment = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"}, headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.headers["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert fragment.content.decode().startswith("A field contains a character that can't be stored")
    script = manager.post(reverse("labels", args=["covid"]), {"name": "a\0b"}, headers={"Accept": "application/json"})
    assert (script.status_code, script.json()["error"]) == (400, "malformed")


@pytest.mark.parametrize("where", ["/projects/covid/?a=%00", "/projects/covid/?%00=a", "/projects/%00/"])
def test_nul_in_a_url(manager, where):
    assert manager.get(where).status_code == 400


def test_a_number_too_large_for_a_column_gives_404(manager):
    for number in (2**63, "9" * 400, HUGE):
        assert manager.get(f"/projects/covid/notes/{number}/").status_code == 404


def test_a_bad_cookie_is_ignored_and_signs_nobody_in(project):
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


# ── The person of a page ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def note(project):
    person = make_member(project, "annotator", "ann")
    return make_note(project, annotators=[person]), person


@pytest.mark.parametrize("route", ["start_annotations", "submit", "reopen", "changes", "comments", "flag"])
@pytest.mark.parametrize(
    ("person", "status"), [("absent", 400), (None, 409), (True, 409), ("1", 409), (1.0, 409), (10**6, 409)]
)
def test_json_names_the_person_of_its_page(note, route, person, status):
    document, signed_in = note
    client = Client()
    client.force_login(signed_in)
    body = {} if person == "absent" else {"person": signed_in.pk + 0.0 if person == 1.0 else person}
    answer = client.post(reverse(route, args=["covid", document.pk]), json.dumps(body), content_type="application/json")
    assert answer.status_code == status
    assert answer.json()["error"] == ("malformed" if status == 400 else "person")
    assert not AnnotationSet.objects.exists()


def test_json_to_a_page_without_json_is_checked_too(note):
    """Such a page reads forms, but a script must not reach it as another person."""
    _, signed_in = note
    client = Client()
    client.force_login(signed_in)
    address = reverse("keys", args=["covid"])
    assert client.post(address, "{}", content_type="application/json").status_code == 400


def test_another_content_type_is_not_read_as_json(note):
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


@pytest.fixture
def administrator(db) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize(
    "query",
    [
        {"id__in": str(2**63)},
        {"id__in": f"1,{2**63}"},
        {"attempt_time__year": str(2**31)},
        {"q": "word " * 2_000},
    ],
)
def test_the_admin_passes_no_number_or_search_on_that_a_database_refuses(administrator, query):
    assert administrator.get(reverse("admin:axes_accesslog_changelist"), query).status_code == 400


def test_the_admin_still_filters_and_searches(administrator):
    page = reverse("admin:axes_accesslog_changelist")
    for query in ({"q": "root"}, {"q": "9" * 200}, {"attempt_time__year": "2026"}, {"o": "-1.2"}, {"p": "1"}):
        assert administrator.get(page, query).status_code in (200, 302), query
    chosen = {"action": "remove_second_factor", "_selected_action": [str(User.objects.get(username="root").pk)]}
    assert administrator.post(reverse("admin:annotations_user_changelist"), chosen).status_code == 302


@pytest.mark.parametrize("chosen", [HUGE, str(2**63), "²", "nan", "-1", ""])
def test_the_admin_accepts_only_rows_as_a_selection(administrator, chosen):
    data = {"action": "remove_second_factor", "_selected_action": chosen}
    assert administrator.post(reverse("admin:annotations_user_changelist"), data).status_code == 400


def test_the_admin_accepts_no_empty_field_name(administrator, project):
    page = reverse("admin:annotations_project_change", args=[project.pk])
    assert administrator.get(page, {"_to_field": ""}).status_code == 400
    assert administrator.get(page, {"_to_field": "id"}).status_code == 200
