"""Every error is a problem (RFC 9457) that names the field and the reason."""

import pytest
from django.test import Client, override_settings

from annotations.api import mount
from annotations.core.sealing import OtherSecretKey
from tests.factories import make_member
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
SECRET = "Anna Bianchi"


def problem(answer) -> dict:
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert SECRET not in answer.content.decode()
    return body


def raw(world, method="POST", path="/projects", body=b"", content_type="application/json", **headers):
    client = Client(raise_request_exception=False)
    return client.generic(
        method, f"/api/v1{path}", body, content_type=content_type, headers=world.program.headers | headers
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed"),
        (b"[]", 400, "malformed"),
        (b'{"name": "a\\u0000"}', 400, "malformed"),
        (b'{"name": 1, "name": 2}', 400, "malformed"),
        (b'{"name": "Anna Bianchi"}', 422, "invalid"),
        (b'{"name": ["Anna Bianchi"], "label_set": "meddocan"}', 422, "invalid"),
        (b'{"name": "Anna Bianchi", "label_set": "none"}', 422, "invalid"),
    ],
)
def test_bodies(world, body, status, code):
    found = problem(raw(world, body=body))
    assert (found["status"], found["code"]) == (status, code)


def test_a_field_and_its_reason(world):
    found = problem(world.program.post("/projects", {"name": "", "label_set": "none", "more": SECRET}))
    assert found["errors"] == [{"field": "more", "reason": "Extra inputs are not permitted."}]
    found = problem(world.program.post("/projects", {"name": "", "label_set": "none"}))
    assert [error["field"] for error in found["errors"]] == ["name", "label_set"]


def test_what_is_no_json(world):
    assert problem(raw(world, content_type="text/plain", body=b"Anna Bianchi"))["status"] == 415
    assert problem(raw(world, content_type="application/json; charset=latin-1", body=b"{}"))["status"] == 415


def test_sizes(world):
    assert problem(raw(world, body=b" " * 2_700_000))["status"] == 413
    chunked = {"Transfer-Encoding": "chunked"}
    assert problem(raw(world, body=b"{}", **chunked))["status"] == 411


def test_a_large_body_is_refused_before_it_is_read_without_the_right(world):
    program = Program(make_member(world.project, "annotator", "anna"))
    answer = Client().post(
        "/api/v1/projects/ward/notes", b" " * 2_700_000, content_type="application/json", headers=program.headers
    )
    assert problem(answer)["status"] == 403


@pytest.mark.parametrize(
    ("path", "status"), [("/nowhere", 404), ("/projects/ward/notes/99999999999999999999", 404), ("", 404)]
)
def test_addresses(world, path, status):
    assert problem(world.program.get(path))["status"] == status
    assert problem(Client().get(f"/api/v1{path}"))["status"] == 401


def test_a_method_that_an_address_lacks(world):
    answer = world.program.send("PUT", "/projects/ward/notes")
    assert problem(answer)["status"] == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}


def test_an_error_of_the_server_says_nothing_of_the_note(world, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("annotations.notes.api.note_for", fail)
    assert problem(world.program.get(f"/projects/ward/notes/{world.note.pk}"))["code"] == "failed"


def test_another_secret_key(world, monkeypatch):
    def fail(*args, **kwargs):
        raise OtherSecretKey

    monkeypatch.setattr("annotations.notes.api.note_for", fail)
    assert problem(world.program.get(f"/projects/ward/notes/{world.note.pk}"))["status"] == 503


def test_an_archived_project(world):
    world.program.post("/projects/ward/archive")
    found = problem(world.program.patch("/projects/ward/settings", {"name": "New"}))
    assert (found["status"], found["code"]) == (403, "archived")


@override_settings(REQUESTS_PER_WINDOW=3)
def test_too_many_requests_of_one_token(world):
    other = Program(world.manager)
    answers = [world.program.get("/projects") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
    problem(answers[-1])
    assert other.get("/projects").status_code == 200


@override_settings(ANONYMOUS_PER_WINDOW=2)
def test_too_many_requests_without_a_token(world):
    assert [Program(None).get("/projects").status_code for _ in range(3)] == [401, 401, 429]


def test_two_routes_need_two_names(monkeypatch):
    from annotations.notes.api import router

    monkeypatch.setattr(mount, "routers", lambda: [router, router])
    with pytest.raises(ValueError, match="Two routes of the API are named"):
        mount.api.__wrapped__()
