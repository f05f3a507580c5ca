"""Tokens: their page, their commands, and when they stop working."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations.api.services.tokens import MOST_TOKENS, create_token, revoke_token
from annotations.core.errors import ServiceError
from annotations.models import ApiToken, Event, Membership
from tests.factories import make_project, make_user
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(world) -> Client:
    client = Client()
    client.force_login(world.manager)
    return client


def test_a_token_is_shown_once_and_stored_as_a_hash(world, client):
    answer = client.post(reverse("api_tokens"), {"name": "Nightly import", "scope": "write", "days": "30"})
    row = ApiToken.objects.get(name="Nightly import")
    secret = answer.context["secret"]
    assert secret in answer.content.decode() and secret.startswith(row.prefix)
    assert secret not in str(ApiToken.objects.filter(pk=row.pk).values().get())
    assert secret not in client.get(reverse("api_tokens")).content.decode()
    assert (row.scope, row.project) == ("write", None)
    assert abs(row.expires_at - row.created_at - timedelta(days=30)) < timedelta(seconds=9)
    assert Event.objects.get(verb="token.created", data__token=row.pk).data == {
        "token": row.pk,
        "user": "mia",
        "scope": "write",
    }


def test_the_form_says_what_is_wrong(world, client):
    other = make_project("other")
    answer = client.post(reverse("api_tokens"), {"name": " ", "scope": "all", "days": "0", "project": other.pk})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"name", "scope", "days", "project"}


def test_the_empty_page_says_what_tokens_are_for(client):
    ApiToken.objects.all().delete()
    assert "You have no tokens yet." in client.get(reverse("api_tokens")).content.decode()


def test_the_page_revokes_only_own_tokens(world, client):
    theirs = Program(make_user("other")).token
    assert client.post(reverse("api_token_revoke", args=[theirs.pk])).status_code == 404
    client.post(reverse("api_token_revoke", args=[world.program.token.pk]))
    assert world.program.get("/projects").status_code == 401


@pytest.mark.parametrize(
    "change",
    [
        lambda token: ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now()),
        lambda token: revoke_token(token=token, actor=None),
        lambda token: type(token.user).objects.filter(pk=token.user_id).update(is_active=False),
    ],
    ids=["expired", "revoked", "inactive account"],
)
def test_a_token_stops_working(world, change):
    assert world.program.get("/projects").status_code == 200
    change(world.program.token)
    answer = world.program.get("/projects")
    assert (answer.status_code, answer.json()["code"]) == (401, "token")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_the_session_of_a_page_is_no_token(client):
    assert client.get("/api/v1/projects").status_code == 401


def test_a_removed_member_has_no_access(world):
    Membership.objects.filter(user=world.manager).update(active=False)
    assert world.program.get("/projects/ward").status_code == 404
    assert world.program.get("/projects").json()["items"] == []


def test_the_last_use_is_written_once_a_minute(world):
    world.program.get("/projects")
    first = ApiToken.objects.get(pk=world.program.token.pk).last_used_at
    world.program.get("/projects")
    assert ApiToken.objects.get(pk=world.program.token.pk).last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    world.program.get("/projects")
    assert ApiToken.objects.get(pk=world.program.token.pk).last_used_at >= first


def test_a_token_of_one_project_lists_and_makes_no_other(world):
    make_project("other")
    program = Program(world.manager, project=world.project)
    assert [one["slug"] for one in program.get("/projects").json()["items"]] == ["ward"]
    assert program.post("/projects", {"name": "New", "label_set": "meddocan"}).status_code == 403


@pytest.mark.parametrize(
    ("wrong", "code"), [({"name": " "}, "name"), ({"days": 400}, "days"), ({"scope": "all"}, "scope")]
)
def test_what_a_token_can_not_have(world, wrong, code):
    wanted = {"user": world.manager, "name": "x", "scope": "read", "days": 1, "actor": None} | wrong
    with pytest.raises(ServiceError) as caught:
        create_token(**wanted)
    assert caught.value.code == code


def test_a_person_has_a_limited_number_of_tokens(world):
    row = ApiToken.objects.get()
    rows = [
        ApiToken(user=row.user, name="x", prefix="x", digest=str(n), expires_at=row.expires_at)
        for n in range(MOST_TOKENS - 1)
    ]
    ApiToken.objects.bulk_create(rows)
    with pytest.raises(ServiceError, match="already 50 valid tokens"):
        create_token(user=world.manager, name="x", scope="read", days=1, actor=None)


def command(*args: str) -> dict:
    out = StringIO()
    call_command(*args, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_commands(world):
    made = command("create_token", "mia", "Cron", "--scope", "write", "--project", "ward", "--days", "7")
    program = Program(None)
    program.secret = made["token"]
    assert program.get("/projects/ward").status_code == 200
    listed = command("tokens", "mia")["tokens"][0]
    assert {key: listed[key] for key in ("id", "name", "scope", "project", "state")} == {
        "id": made["id"],
        "name": "Cron",
        "scope": "write",
        "project": "ward",
        "state": "valid",
    }
    assert command("revoke_token", str(made["id"])) == {"id": made["id"], "state": "revoked"}
    assert program.get("/projects/ward").status_code == 401
