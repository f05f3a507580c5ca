"""Tokens: their page, their commands, and when they stop working."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations.core.api.tokens import MOST_TOKENS, create_token, revoke_token, valid_tokens
from annotations.core.services import ServiceError
from annotations.models import ApiToken, Event, Membership, User
from tests.factories import PASSWORD, make_project, make_user
from tests.worlds.pages import signed_in
from tests.worlds.programs import Program

PAGE = reverse("api_tokens")


@pytest.fixture
def client(world) -> Client:
    return signed_in(world.manager)


def test_a_token_is_shown_once_and_stored_as_a_hash(world, client):
    answer = client.post(PAGE, {"name": "Nightly import", "scope": "write", "days": "30", "password": PASSWORD})
    row = ApiToken.objects.get(name="Nightly import")
    secret = answer.context["secret"]
    assert secret in answer.text and secret.startswith(row.prefix)
    assert secret not in str(ApiToken.objects.filter(pk=row.pk).values().get()) and secret not in client.get(PAGE).text
    assert (row.scope, row.project) == ("write", None)
    assert abs(row.expires_at - row.created_at - timedelta(days=30)) < timedelta(seconds=9)
    event = Event.objects.get(verb="token.created", data__token=row.pk)
    assert event.data == {"token": row.pk, "user": "mia", "scope": "write"}


def test_a_token_asks_for_the_password_and_ends_with_it(client, world):
    mia = world.manager
    mia.set_password("correct horse battery")
    mia.save()
    assert not ApiToken.objects.filter(user=mia, revoked_at=None).exists(), "a new password ends all tokens"
    client.force_login(mia)
    new = {"name": "Import", "scope": "read", "days": "30"}
    for password in ("", "wrong"):
        assert client.post(PAGE, new | {"password": password}).status_code == 422
    assert client.post(PAGE, new | {"password": "correct horse battery"}).status_code == 200
    token = ApiToken.objects.get(user=mia, revoked_at=None)
    mia.save()
    assert valid_tokens(mia).get() == token, "what sets no password ends no token"


def test_a_session_from_before_the_app_was_set_up_makes_no_token(client, world):
    TOTP.activate(world.manager, "JBSWY3DPEHPK3PXP")
    answer = client.post(PAGE, {"name": "Import", "scope": "read", "days": "30"})
    assert answer.status_code == 403 and not ApiToken.objects.filter(name="Import").exists()


def test_the_page_names_what_is_wrong_and_revokes_only_own_tokens(world, client):
    other, theirs = make_project("other"), Program(make_user("other")).token
    answer = client.post(PAGE, {"name": " ", "scope": "all", "days": "0", "project": other.pk, "password": PASSWORD})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"name", "scope", "days", "project"}
    assert client.post(reverse("api_token_revoke", args=[theirs.pk])).status_code == 404
    client.post(reverse("api_token_revoke", args=[world.program.token.pk]))
    assert world.program.get("/projects").status_code == 401
    ApiToken.objects.all().delete()
    assert "You have no tokens yet." in client.get(PAGE).text


@pytest.mark.parametrize(
    "change",
    [
        lambda token: ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now()),
        lambda token: revoke_token(token=token, actor=None),
        lambda token: User.objects.filter(pk=token.user_id).update(is_active=False),
    ],
    ids=["expired", "revoked", "inactive account"],
)
def test_a_token_stops_working(world, change):
    assert world.program.get("/projects").status_code == 200
    change(world.program.token)
    answer = world.program.get("/projects")
    assert (answer.status_code, answer.json()["code"]) == (401, "token")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_what_opens_nothing(world, client):
    assert client.get("/api/v1/projects").status_code == 401, "the session of a page is no token"
    make_project("other")
    program = Program(world.manager, project=world.project)
    assert [one["slug"] for one in program.get("/projects").json()["items"]] == ["ward"]
    assert program.post("/projects", {"name": "New", "label_set": "meddocan"}).status_code == 403
    Membership.objects.filter(user=world.manager).update(active=False)
    assert world.program.get("/projects").json()["items"] == []


def test_the_last_use_is_written_once_a_minute(world):
    def last_use():
        world.program.get("/projects")
        return ApiToken.objects.get(pk=world.program.token.pk).last_used_at

    first = last_use()
    assert last_use() == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    assert last_use() >= first


def test_what_a_token_can_not_have(world):
    wanted = {"user": world.manager, "name": "x", "scope": "read", "days": 1, "actor": None}
    for wrong in ({"name": " "}, {"days": 400}, {"scope": "all"}):
        with pytest.raises(ServiceError) as caught:
            create_token(**wanted | wrong)
        assert caught.value.code in wrong
    row = {"user": world.manager, "name": "x", "prefix": "x", "expires_at": ApiToken.objects.get().expires_at}
    ApiToken.objects.bulk_create(ApiToken(digest=str(n), **row) for n in range(MOST_TOKENS - 1))
    with pytest.raises(ServiceError, match="already 50 valid tokens"):
        create_token(**wanted)


def test_commands(world):
    def command(*args: str) -> dict:
        out = StringIO()
        call_command(*args, "--json", stdout=out)
        return json.loads(out.getvalue())

    made = command("create_token", "mia", "Cron", "--scope", "write", "--project", "ward", "--days", "7")
    program = Program(None)
    program.secret = made["token"]
    assert program.get("/projects/ward").status_code == 200
    expected = {"id": made["id"], "name": "Cron", "scope": "write", "project": "ward", "state": "valid"}
    assert expected.items() <= command("tokens", "mia")["tokens"][0].items()
    assert command("revoke_token", str(made["id"])) == {"id": made["id"], "state": "revoked"}
    assert program.get("/projects/ward").status_code == 401
