"""Tokens, limits, filters, pages, and requests that are no SCIM: every refusal is an error of SCIM."""

import hashlib
import json

from django.test import Client

from annotations.models import ProvisionedUser, User
from deidreview import REQUEST_BYTES
from deidreview.limits import windows
from deidreview.scim import provider_windows
from tests.worlds.scim_provider import HASH, PATCH, TOKEN, USER, Pusher

ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
USER_BODY = {"schemas": [USER], "userName": "a", "externalId": "x"}
NOWHERE = "Users/00000000-0000-4000-8000-000000000000"


def refused(answer, status: int, kind: str | None = None) -> str:
    """Check that the answer is an error of SCIM. Return its sentence."""
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/scim+json"
    found = answer.json()
    assert found["schemas"] == [ERROR] and found["status"] == str(status) and found.get("scimType") == kind, found
    return found["detail"]


def test_without_the_token_everything_is_refused(configure):
    for path, authorizations in (
        ("idp/Users", ["", f"Bearer {TOKEN}x", f"Bearer {HASH}", "Bearer ", f"Basic {TOKEN}"]),
        ("none/Users", [f"Bearer {TOKEN}"]), ("", [f"Bearer {TOKEN}"]), ("idp/nowhere", [""]),
    ):  # fmt: skip
        for authorization in authorizations:
            answer = Client().get(f"/scim/v2/{path}", headers={"Authorization": authorization})
            refused(answer, 401)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_no_session_helps_and_none_is_made(client, configure, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("root"))
    refused(client.get("/scim/v2/idp/Users"), 401)
    answer = Client().get("/scim/v2/idp/Users", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200 and not answer.cookies


def test_a_provider_without_tokens_and_a_short_token_are_refused(configure, pusher):
    configure(scim_token_hashes=(), scim_groups=False)
    refused(pusher.get("Users"), 401)
    configure(scim_token_hashes=(hashlib.sha256(b"short").hexdigest(),))
    refused(Pusher(token="short").get("Users"), 401)
    configure(scim_token_hashes=("0" * 64, HASH))
    assert pusher.get("Users").status_code == 200


def test_wrong_tokens_and_too_many_requests_are_limited(pusher, settings):
    settings.ANONYMOUS_PER_WINDOW = settings.REQUESTS_PER_WINDOW = 2
    windows.clear()
    provider_windows.clear()
    for sender in (Pusher(token="x" * 40), pusher):
        # The window may end between two requests.
        answers = [sender.get("Users") for _ in range(7)]
        refused(next(one for one in answers if one.status_code == 429), 429)
        assert all(one.headers["Retry-After"] for one in answers if one.status_code == 429)
    windows.clear()
    provider_windows.clear()


def test_a_body_that_is_no_user_is_refused(pusher):
    for body in (
        b" ", b"[]", b"[" * 100_000, b'{"userName": "a", "userName": "b"}', b'{"userName": "\\u0000"}',
        b'{"userName": "\\ud800"}', b"\xff", {"schemas": None, "userName": None, "externalId": None},
        {"userName": None}, {"externalId": ""}, {"userName": ["a"]}, {"userName": "İ" * 200}, {"active": None},
        {"emails": [{"value": "e"}] * 21},

    ):  # fmt: skip
        kind = "invalidSyntax" if isinstance(body, bytes) else "invalidValue"
        if isinstance(body, dict):
            absent = {name for name, value in body.items() if value is None and name != "active"}
            body = {name: value for name, value in (USER_BODY | body).items() if name not in absent}
        refused(pusher.send("POST", "Users", body), 400, kind)
        assert not User.objects.exists()


def test_a_change_that_is_no_change_is_refused_and_changes_nothing(pusher):
    ada = pusher.push_user()
    before = ProvisionedUser.objects.values().get()
    for operations in (
        [], [None], [{"op": "remove"}], [{"op": "explode", "path": "active"}],
        [{"op": "replace", "path": "active", "value": {"a": 1}}], [{"op": "replace", "path": "active[", "value": True}],
        [{"op": "replace", "path": "emails[" + "not (" * 3000 + "b eq 1" + ")" * 3000 + "]", "value": True}],
        [{"op": "replace", "path": "id", "value": "x"}], [{"op": "remove", "path": "userName"}],
        [{"op": "remove", "path": "externalId"}], [{"op": "replace", "path": "userName", "value": "x" * 256}],
        [{"op": "replace", "path": "active", "value": False}, {"op": "replace", "path": "userName", "value": 1}],
        [{"op": "replace", "value": "x"}],
        [{"op": "add", "path": "emails", "value": [{"value": "e", "primary": True}] * 2}],
        [{"op": "replace", "path": "active", "value": True}] * 1001,
    ):  # fmt: skip
        answer = pusher.send("PATCH", f"Users/{ada}", {"schemas": [PATCH], "Operations": operations})
        assert answer.status_code == 400 and answer.json()["schemas"] == [ERROR], answer.content
        assert ProvisionedUser.objects.values().get() == before and User.objects.get().is_active


def test_other_media_types_methods_sizes_and_addresses_are_refused(pusher):
    for content_type in ("text/plain", "application/json; charset=latin-1"):
        refused(pusher.send("POST", "Users", USER_BODY, content_type=content_type), 415)
    assert pusher.send("POST", "Users", USER_BODY, content_type="application/json; charset=utf-8").status_code == 201
    refused(pusher.send("POST", "Users", b" " * (REQUEST_BYTES + 1)), 413)
    refused(pusher.send("DELETE", "Users"), 405)
    refused(pusher.send("POST", "ServiceProviderConfig", {}), 405)
    for path in ("nowhere", "Users/1", NOWHERE, "Bulk", "Me", "Schemas/x"):
        refused(pusher.get(path), 404)
    refused(pusher.send("PUT", NOWHERE, USER_BODY), 404)
    refused(pusher.send("POST", ".search", {}), 501)
    refused(pusher.get("Schemas", filter="id pr"), 403)


def test_an_unsupported_filter_is_refused(pusher):
    for text in (
        'userName co "a"', "userName pr", "not (active eq true)", 'emails[type eq "work"]', "((((",
        'userName eq "a" and', "x" * 3000, 'userName eq "a" and (' * 2000 + 'userName eq "a"' + ")" * 2000,
        'userName eq "a" and (' * 90 + "userName pr" + ")" * 90, "active eq 7",

    ):  # fmt: skip
        refused(pusher.get("Users", filter=text), 400, "invalidFilter")
        refused(pusher.send("POST", "Users/.search", {"filter": text}), 400, "invalidFilter")


def test_users_are_found_and_paged(pusher):
    ids = [pusher.push_user(f"user{number}@x.example", f"k-{number}") for number in range(5)]
    pusher.set_active(ids[4], False)

    def found(**query: str) -> list[str]:
        return [one["id"] for one in pusher.get("Users", **query).json().get("Resources", [])]

    assert found() == ids and found(filter='userName eq "USER1@x.example"') == [ids[1]]
    assert found(filter='externalId eq "k-2"') == [ids[2]] and found(filter='externalId eq "K-2"') == []
    assert found(filter='userName eq "user0@x.example" or externalId eq "k-1"') == ids[:2]
    assert found(filter="active eq false") == [ids[4]]
    assert found(filter=f'id eq "{ids[3]}" and active eq true') == [ids[3]]
    assert found(filter='id eq "nobody"') == found(filter='userName eq "nobody"') == []
    assert found(startIndex="2", count="2") == ids[1:3] and found(startIndex="-5", count="1") == ids[:1]
    assert found(startIndex="9" * 18) == found(count="0") == []
    page = pusher.get("Users", startIndex="4", count="1").json()
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (5, 4, 1)
    refused(pusher.get("Users", startIndex="x"), 400, "invalidValue")
    searched = pusher.send("POST", "Users/.search", {"filter": 'externalId eq "k-1"', "count": 1}).json()
    assert [one["id"] for one in searched["Resources"]] == [ids[1]]
    (shown,) = pusher.get("Users", filter='externalId eq "k-1"', attributes="userName").json()["Resources"]
    assert set(shown) == {"schemas", "id", "userName"}


def test_what_the_service_offers(configure, pusher):
    config = pusher.get("ServiceProviderConfig").json()
    assert config["patch"]["supported"] and not config["bulk"]["supported"] and config["filter"]["supported"]
    assert [one["name"] for one in pusher.get("ResourceTypes").json()["Resources"]] == ["User", "Group"]
    assert "active" in [one["name"] for one in pusher.get(f"Schemas/{USER}").json()["attributes"]]
    configure(scim_groups=False)
    assert [one["name"] for one in pusher.get("ResourceTypes").json()["Resources"]] == ["User"]


def test_the_command_makes_a_token_that_works_with_its_hash(configure, capsys):
    from django.core.management import call_command

    call_command("create_scim_token", json=True)
    made = json.loads(capsys.readouterr().out)
    configure(scim_token_hashes=(made["hash"],))
    assert Pusher(token=made["token"]).get("Users").status_code == 200
    call_command("create_scim_token")
    assert {line.split(": ")[0] for line in capsys.readouterr().out.splitlines()} == {"token", "hash"}
