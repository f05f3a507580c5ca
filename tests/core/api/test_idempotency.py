"""The same POST with the same idempotency key has one effect and one answer."""

import base64
import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from annotations.core.api import answers
from annotations.core.api.answers import empty_answers, forget_answers
from annotations.core.api.mount import api
from annotations.core.api.routes import SHOWN_ONCE
from annotations.core.sealing import project_key
from annotations.models import ApiAnswer, Document, Job, Membership, Project, User, Webhook
from annotations.ops.rules import read_hosts
from annotations.ops.services.erasing import delete_note
from tests.core.api.conftest import build_world
from tests.factories import make_user
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
NEW = {"name": "Ward B", "label_set": "meddocan"}
NOTES = {"notes": [{"name": "a", "text": "Anna Bianchi"}]}


def send(world, path="/projects", body=NEW):
    return world.program.post(path, body, idempotency_key="k")


def test_a_repetition_gets_the_same_answer(world):
    first, again = (send(world) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201) and again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Project.objects.filter(name="Ward B").count() == 1


def test_another_request_with_the_key_is_refused_and_an_error_is_repeated(world):
    wrong = NEW | {"label_set": "?"}
    first, again = (send(world, body=wrong) for _ in range(2))
    assert first.status_code == again.status_code == 422 and again.json() == first.json()
    for path, body in (("/projects", NEW), ("/projects/ward/archive", None)):
        answer = send(world, path, body)
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency-key")
    assert Program(world.manager).post("/projects/ward/archive", idempotency_key="k").status_code == 200


def test_after_an_error_of_the_server_the_request_runs_again(world, monkeypatch):
    def fail(**wanted):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("annotations.projects.services.projects.create_project", fail)
        assert send(world).status_code == 500
    assert send(world).status_code == 201


def test_a_running_request_is_a_conflict_until_its_claim_ends(world):
    send(world)
    Project.objects.filter(name="Ward B").update(slug="moved", name="Moved")
    ApiAnswer.objects.update(status=None, sealed=None)
    answer = send(world)
    assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1")
    ApiAnswer.objects.update(claimed_at=timezone.now() - answers.CLAIM - timedelta(seconds=1))
    assert send(world).status_code == 201


def test_a_request_that_lost_its_claim_leaves_nothing(world, monkeypatch):
    made = Project.objects.count()
    act = answers._columns

    def taken(request, response, secret, begun):
        ApiAnswer.objects.update(claim="6f0c6d5e-0000-4000-8000-000000000001")
        return act(request, response, secret, begun)

    monkeypatch.setattr(answers, "_columns", taken)
    assert send(world).status_code == 409 and Project.objects.count() == made


def test_answers_are_forgotten_after_a_day(world):
    send(world, "/projects/ward/archive", None)
    ApiAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert send(world, "/projects/ward/archive", None).json() == {"changed": False}
    for left, hours in ((1, 0), (0, 25)):
        ApiAnswer.objects.update(created_at=timezone.now() - timedelta(hours=hours))
        forget_answers()
        assert ApiAnswer.objects.count() == left


def test_an_erasure_empties_answers(world):
    send(world, "/projects/ward/restore", None)
    assert b"changed" not in bytes(ApiAnswer.objects.get().sealed)
    delete_note(project=world.project, note=world.note.pk, actor=world.manager)
    answer = send(world, "/projects/ward/restore", None)
    assert (answer.status_code, answer.json()["code"]) == (409, "erased")
    empty_answers(project=world.project)


def test_a_repetition_needs_the_rights_that_the_request_needed(world):
    sent = ("/projects/ward/patients/preview", {"patient_id": "P-1"})
    Document.objects.update(patient_id="P-1")
    assert send(world, *sent).status_code == send(world, *sent).status_code == 200
    for role, status in (("reviewer", 403), ("manager", 200)):
        world.project.memberships.update(role=role)
        assert send(world, *sent).status_code == status
    world.project.memberships.all().delete()
    assert send(world, *sent).status_code == 404


def test_files_count_as_part_of_the_request(world):
    def upload(content):
        headers = world.program.headers | {"Idempotency-Key": "k"}
        files = {"files": [SimpleUploadedFile("a.txt", content)]}
        return Client().post("/api/v1/projects/ward/imports", files, headers=headers).status_code

    assert [upload(content) for content in (b"One.", b"One.", b"Two.")] == [202, 202, 422]
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_have_one_effect(at_once):
    world = build_world()
    found = {answer.status_code for answer in at_once(*[lambda: send(world, "/projects/ward/notes", NOTES)] * 2)}
    assert {202} <= found <= {202, 409} and Job.objects.filter(kind="import").count() == 1
    assert send(world, "/projects/ward/notes", NOTES).status_code == 202
    assert Job.objects.filter(kind="import").count() == 1


# ── Secrets that the API shows once: they are not stored for a repeated request, which has no second effect ──


MEMBERS, WEBHOOKS = "/projects/ward/members", "/projects/ward/webhooks"
HOOK = {"url": "https://hooks.example.org/", "kinds": ["job.done"]}
NINA = {"username": "nina", "role": "annotator", "account": "new"}
NAMES = {"secret", "link", "password", "token", "codes"}
MARKED = {"new_webhook", "renew_webhook_secret", "new_member", "new_password_link"}


@pytest.fixture
def listed(settings) -> None:
    settings.WEBHOOK_HOSTS = read_hosts(["hooks.example.org"])


def _sent_twice(world, path, body=None):
    first, again = (world.program.post(path, body, idempotency_key="k") for _ in range(2))
    assert first.status_code in (200, 201), first.content
    return first.json(), again


def _refused(again, how):
    assert (again.status_code, again.json()["code"]) == (409, "shown-once")
    assert "was carried out" in again.json()["detail"] and how in again.json()["detail"]


def _stored(secret):
    """Whether the secret is in the stored answer."""
    row = ApiAnswer.objects.get()
    said = project_key(row.project_id).open(bytes(row.sealed))
    return secret in json.dumps(said) + base64.b64decode(said.get("body", "")).decode()


def test_a_new_webhook_and_a_replaced_secret(world, listed):
    first, again = _sent_twice(world, WEBHOOKS, HOOK)
    _refused(again, "/webhooks/{webhook}/secret")
    assert first["secret"] not in again.content.decode() and not _stored(first["secret"])
    assert Webhook.objects.count() == 1
    ApiAnswer.objects.all().delete()
    renewed, again = _sent_twice(world, f"{WEBHOOKS}/{first['id']}/secret")
    _refused(again, "new Idempotency-Key")
    assert renewed["secret"] != first["secret"] and not _stored(renewed["secret"])
    sealed = bytes(Webhook.objects.get().sealed)
    assert "whsec_" + project_key(world.project.pk).open(sealed) == renewed["secret"], "the first request's counts"


def test_a_new_account_and_a_password_link(world):
    first, again = _sent_twice(world, MEMBERS, NINA)
    _refused(again, "/members/{member}/password-link")
    assert first["link"] and not _stored(first["link"]) and User.objects.filter(username="nina").count() == 1
    ApiAnswer.objects.all().delete()
    link, again = _sent_twice(world, f"{MEMBERS}/{first['id']}/password-link")
    _refused(again, "new Idempotency-Key")
    assert not _stored(link["link"])


def test_an_answer_without_a_secret_and_an_error_are_repeated(world, listed):
    make_user("nina")
    first, again = _sent_twice(world, MEMBERS, NINA | {"account": "existing"})
    assert first["link"] is None and (again.status_code, again.json()) == (201, first)
    assert Membership.objects.filter(user__username="nina").count() == 1
    wrong = HOOK | {"url": "?"}
    assert {world.program.post(WEBHOOKS, wrong, idempotency_key="other").status_code for _ in range(2)} == {422}


def _fields(schemas, found, seen=()):
    """The names of all fields of a schema, with those of the schemas in it."""
    if isinstance(found, list):
        return {name for each in found for name in _fields(schemas, each, seen)}
    if not isinstance(found, dict):
        return set()
    name = found.get("$ref", "").rpartition("/")[2]
    inner = _fields(schemas, schemas[name], (*seen, name)) if name and name not in seen else set()
    return inner | set(found.get("properties", {})) | _fields(schemas, list(found.values()), seen)


def test_every_route_whose_answer_has_a_secret_is_marked_and_described():
    description = api().schema()
    marked = {name for name, one in api().operations.items() if hasattr(one.view_func, SHOWN_ONCE)}
    found, told = set(), set()
    for operation in (each for path in description["paths"].values() for each in path.values()):
        good = [answer for status, answer in operation["responses"].items() if int(status) < 300]
        if NAMES & _fields(description["components"]["schemas"], good):
            found.add(operation["operationId"])
        if "shown-once" in json.dumps(operation.get("parameters", [])):
            told.add(operation["operationId"])
    assert marked == found == told == MARKED
