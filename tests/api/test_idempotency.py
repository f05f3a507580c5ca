"""The same POST with the same idempotency key has one effect and one answer."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotations.api.services import answers
from annotations.api.services.kept_answers import empty_answers, forget_answers
from annotations.models import ApiAnswer, Job, Project
from annotations.ops.services.erasing import delete_note
from tests.api.conftest import build_world
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
NEW = {"name": "Ward B", "label_set": "meddocan"}
NOTES = {"notes": [{"name": "a", "text": "Anna Bianchi"}]}


def test_a_repetition_gets_the_same_answer(world):
    first, again = (world.program.post("/projects", NEW, idempotency_key="k") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Project.objects.filter(name="Ward B").count() == 1


def test_another_request_with_the_key_is_refused(world):
    world.program.post("/projects", NEW, idempotency_key="k")
    for path, body in (("/projects", NEW | {"name": "Other"}), ("/projects/ward/archive", None)):
        answer = world.program.post(path, body, idempotency_key="k")
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency-key")
    assert Program(world.manager).post("/projects/ward/archive", idempotency_key="k").status_code == 200


def test_an_error_is_repeated_too_and_leaves_nothing(world):
    first, again = (world.program.post("/projects", NEW | {"label_set": "?"}, idempotency_key="k") for _ in range(2))
    assert (first.status_code, again.status_code) == (422, 422)
    assert again.json() == first.json()


def test_after_an_error_of_the_server_the_request_runs_again(world, monkeypatch):
    def fail(**wanted):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("annotations.projects.api.create_project", fail)
        assert world.program.post("/projects", NEW, idempotency_key="k").status_code == 500
    assert world.program.post("/projects", NEW, idempotency_key="k").status_code == 201


def test_a_running_request_is_a_conflict_until_its_claim_ends(world):
    world.program.post("/projects", NEW, idempotency_key="k")
    Project.objects.filter(name="Ward B").update(slug="moved", name="Moved")
    ApiAnswer.objects.update(status=None, sealed=None)
    answer = world.program.post("/projects", NEW, idempotency_key="k")
    assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1")
    ApiAnswer.objects.update(claimed_at=timezone.now() - answers.CLAIM - timedelta(seconds=1))
    assert world.program.post("/projects", NEW, idempotency_key="k").status_code == 201


def test_a_request_that_lost_its_claim_leaves_nothing(world, monkeypatch):
    made = Project.objects.count()
    act = answers._columns

    def taken(request, response, secret):
        ApiAnswer.objects.update(claim="6f0c6d5e-0000-4000-8000-000000000001")
        return act(request, response, secret)

    monkeypatch.setattr(answers, "_columns", taken)
    assert world.program.post("/projects", NEW, idempotency_key="k").status_code == 409
    assert Project.objects.count() == made


def test_answers_are_forgotten_after_a_day(world):
    world.program.post("/projects/ward/archive", idempotency_key="k")
    ApiAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert world.program.post("/projects/ward/archive", idempotency_key="k").json() == {"changed": False}
    forget_answers()
    assert ApiAnswer.objects.count() == 1
    ApiAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    forget_answers()
    assert ApiAnswer.objects.count() == 0


def test_an_erasure_empties_answers(world):
    world.program.post("/projects/ward/restore", idempotency_key="k")
    row = ApiAnswer.objects.get()
    assert b"changed" not in bytes(row.sealed)
    delete_note(project=world.project, note=world.note.pk, actor=world.manager)
    answer = world.program.post("/projects/ward/restore", idempotency_key="k")
    assert (answer.status_code, answer.json()["code"]) == (409, "erased")
    empty_answers(project=world.project)


def test_files_count_as_part_of_the_request(world):
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.test import Client

    def send(content):
        return Client().post(
            "/api/v1/projects/ward/imports",
            {"files": [SimpleUploadedFile("a.txt", content)]},
            headers=world.program.headers | {"Idempotency-Key": "k"},
        )

    boundary_free = [send(b"One."), send(b"One."), send(b"Two.")]
    assert [answer.status_code for answer in boundary_free] == [202, 202, 422]
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_have_one_effect(at_once):
    world = build_world()
    calls = [lambda: world.program.post("/projects/ward/notes", NOTES, idempotency_key="k") for _ in range(2)]
    found = at_once(*calls)
    assert {answer.status_code for answer in found} <= {202, 409}
    assert any(answer.status_code == 202 for answer in found)
    assert Job.objects.filter(kind="import").count() == 1
    assert world.program.post("/projects/ward/notes", NOTES, idempotency_key="k").status_code == 202
    assert Job.objects.filter(kind="import").count() == 1
