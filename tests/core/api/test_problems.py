"""Answers: every error is a problem (RFC 9457) that names the field and the reason; lists come in pages."""

import pytest
from django.test import Client, override_settings

from annotations.core.api import mount
from annotations.core.sealing import OtherSecretKey
from tests.factories import make_member, make_note
from tests.worlds.programs import Program, lines_of

pytestmark = pytest.mark.django_db
SECRET = "Anna Bianchi"


def problem(answer) -> dict:
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code and SECRET not in answer.content.decode()
    return body


def raw(world, method="POST", path="/projects", body=b"", content_type="application/json", **headers):
    client = Client(raise_request_exception=False)
    return client.generic(
        method, f"/api/v1{path}", body, content_type=content_type, headers=world.program.headers | headers
    )


def test_bodies(world):
    for body, status, code in (
        (b"{", 400, "malformed"), (b'{"name": "a\\u0000"}', 400, "malformed"),
        (b'{"name": 1, "name": 2}', 400, "malformed"), (b'{"name": "Anna Bianchi"}', 422, "invalid"),
        (b'{"name": ["Anna Bianchi"], "label_set": "meddocan"}', 422, "invalid"),
        (b'{"name": "Anna Bianchi", "label_set": "none"}', 422, "invalid"),
    ):  # fmt: skip
        found = problem(raw(world, body=body))
        assert (found["status"], found["code"]) == (status, code)


def test_a_field_and_its_reason(world):
    found = problem(world.program.post("/projects", {"name": "", "label_set": "none", "more": SECRET}))
    assert found["errors"] == [{"field": "more", "reason": "Extra inputs are not permitted."}]
    found = problem(world.program.post("/projects", {"name": "", "label_set": "none"}))
    assert [error["field"] for error in found["errors"]] == ["name", "label_set"]


def test_what_is_no_json_and_sizes(world):
    for content_type in ("text/plain", "application/json; charset=latin-1"):
        assert problem(raw(world, content_type=content_type, body=b"Anna Bianchi"))["status"] == 415
    assert problem(raw(world, body=b" " * 2_700_000))["status"] == 413
    assert problem(raw(world, body=b"{}", **{"Transfer-Encoding": "chunked"}))["status"] == 411


def test_a_large_body_is_refused_before_it_is_read_without_the_right(world):
    program = Program(make_member(world.project, "annotator", "anna"))
    answer = Client().post(
        "/api/v1/projects/ward/notes", b" " * 2_700_000, content_type="application/json", headers=program.headers
    )
    assert problem(answer)["status"] == 403


def test_addresses_and_methods(world):
    for path in ("/nowhere", "/projects/ward/notes/99999999999999999999", ""):
        assert problem(world.program.get(path))["status"] == 404
        assert problem(Client().get(f"/api/v1{path}"))["status"] == 401
    answer = world.program.send("PUT", "/projects/ward/notes")
    assert problem(answer)["status"] == 405 and set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(("error", "status"), [(RuntimeError(SECRET), 500), (OtherSecretKey(), 503)])
def test_an_error_of_the_server_says_nothing_of_the_note(world, monkeypatch, error, status):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("annotations.notes.api._about", fail)
    assert problem(world.program.get(f"/projects/ward/notes/{world.note.pk}"))["status"] == status


def test_an_archived_project(world):
    world.program.post("/projects/ward/archive")
    found = problem(world.program.patch("/projects/ward/settings", {"name": "New"}))
    assert (found["status"], found["code"]) == (403, "archived")


@override_settings(REQUESTS_PER_WINDOW=3, ANONYMOUS_PER_WINDOW=2)
def test_too_many_requests(world):
    answers = [world.program.get("/projects") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10 and problem(answers[-1])
    assert Program(world.manager).get("/projects").status_code == 200, "another token"
    assert [Program(None).get("/projects").status_code for _ in range(3)] == [401, 401, 429]


def test_two_routes_need_two_names(monkeypatch):
    from annotations.notes.api import router

    monkeypatch.setattr(mount, "routers", lambda: [router, router])
    with pytest.raises(ValueError, match="Two routes of the API are named"):
        mount.api.__wrapped__()


# ── Lists in pages, as NDJSON, and with ETags ──


@pytest.fixture
def notes(world) -> list[int]:
    return [world.note.pk, *(make_note(world.project, f"Note {n}.").pk for n in range(4))]


def test_pages(world, notes):
    found, cursor, sizes = [], "", []
    while cursor is not None:
        page = world.program.get(f"/projects/ward/notes?limit=2&cursor={cursor}").json()
        found += [item["id"] for item in page["items"]]
        sizes.append(len(page["items"]))
        cursor = page["next"]
    assert (found, sizes) == (notes, [2, 2, 1])
    assert world.program.get("/projects/ward/notes?limit=5").json()["next"] is None, "the page ends with the list"
    cursor = world.program.get("/projects/ward/notes?limit=1").json()["next"]
    assert world.program.get(f"/projects?cursor={cursor}").status_code == 422, "a cursor belongs to its list"


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "cursor=1", "cursor=1:forged", "state=none"])
def test_wrong_parameters(world, query):
    answer = world.program.get(f"/projects/ward/notes?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, query.partition("=")[0])


def test_all_rows_as_lines(world, notes, monkeypatch):
    monkeypatch.setattr("annotations.core.api.paging.MOST", 2)
    lines = lines_of(world.program.get("/projects/ward/notes", accept="application/x-ndjson"))
    assert [line["id"] for line in lines] == notes
    assert lines == world.program.get("/projects/ward/notes").json()["items"]
    some = lines_of(world.program.get("/projects/ward/notes?limit=3", accept="application/x-ndjson"))
    assert [line["id"] for line in some] == notes[:3]


def test_an_answer_that_the_client_has_is_not_sent_again(world):
    first = world.program.get("/projects/ward/notes")
    again = world.program.get("/projects/ward/notes", if_none_match=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    make_note(world.project, "Another note.")
    assert world.program.get("/projects/ward/notes", if_none_match=first.headers["ETag"]).status_code == 200
