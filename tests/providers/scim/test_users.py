"""Users that a provider pushes: their accounts, and who is out at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from django.contrib.auth import get_user
from django.db import connection
from django.test import Client

from annotations.api.services.tokens import create_token
from annotations.models import (
    Event,
    GroupRole,
    Membership,
    ProviderAccount,
    ProviderSession,
    ProvisionedUser,
    Role,
    User,
)
from annotations.providers.services import checking, signing_in
from annotations.providers.services.signing_in import UNASKABLE, link_account
from tests.factories import make_member, make_project, make_user
from tests.providers.test_oidc import sign_in as oidc_sign_in
from tests.providers.test_saml import sign_in
from tests.worlds import saml_provider
from tests.worlds.scim_provider import HASH, USER, Pusher

pytestmark = pytest.mark.django_db


def is_in(client: Client) -> bool:
    return client.get("/help/").status_code == 200


def sign_in_again(client: Client, number: int = 2):
    return sign_in(client, id=f"assertion-{number}")


def test_who_is_deactivated_is_out_with_the_next_request_and_returns(client, pusher):
    ada = pusher.push_user()
    sign_in(client)
    user = get_user(client)
    project = make_project()
    make_member(project, Role.ANNOTATOR, user)
    _row, secret = create_token(user=user, name="script", scope="read", days=1, actor=user)
    program = {"Authorization": f"Bearer {secret}"}
    assert is_in(client) and client.get("/api/v1/projects", headers=program).status_code == 200

    answer = pusher.set_active(ada, False)
    assert answer.status_code == 200 and answer.json()["active"] is False
    assert not is_in(client) and not ProviderSession.objects.exists()
    assert Client().get("/api/v1/projects", headers=program).status_code == 401
    assert sign_in_again(client).status_code == 403
    assert Event.objects.filter(verb="account.left", project_id=project.pk).exists()

    assert pusher.set_active(ada, True).json()["active"] is True
    assert not is_in(client), "the session that has ended does not come back"
    assert Client().get("/api/v1/projects", headers=program).status_code == 200
    assert sign_in_again(client, 3).status_code == 302
    assert is_in(client) and get_user(client) == user
    assert Event.objects.filter(verb="account.restored", project_id=project.pk).exists()


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": "active", "value": "False"},  # Entra ID
        {"op": "replace", "value": {"active": False}},  # Okta
        {"op": "add", "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": False},
        {"op": "replace", "value": {"urn:ietf:params:scim:schemas:core:2.0:User:active": "false"}},
    ],
)
def test_each_spelling_deactivates(client, pusher, operation):
    ada = pusher.push_user()
    sign_in(client)
    assert pusher.patch(f"Users/{ada}", operation).status_code == 200
    assert not is_in(client)


def test_put_deactivates_and_without_active_leaves_as_it_is(client, pusher):
    ada = pusher.push_user()
    sign_in(client)
    body = {"schemas": [USER], "userName": "ada@hospital.example", "externalId": "n-1"}
    assert pusher.send("PUT", f"Users/{ada}", body).json()["active"] is True
    assert is_in(client)
    assert pusher.send("PUT", f"Users/{ada}", {**body, "active": False}).json()["active"] is False
    assert not is_in(client)
    assert pusher.send("PUT", f"Users/{ada}", body).json()["active"] is False
    assert not User.objects.get().is_active


def test_who_is_deleted_is_out_and_the_same_account_returns(client, pusher):
    ada = pusher.push_user()
    sign_in(client)
    user = get_user(client)
    answer = pusher.send("DELETE", f"Users/{ada}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not is_in(client) and sign_in_again(client).status_code == 403
    assert pusher.get(f"Users/{ada}").status_code == 404 and pusher.send("DELETE", f"Users/{ada}").status_code == 404
    again = pusher.push_user("ada.lovelace@hospital.example")
    assert again != ada and not is_in(client)
    sign_in_again(client, 3)
    assert get_user(client) == user and User.objects.count() == 1


def test_nobody_signs_in_whom_the_provider_did_not_push(client, pusher, caplog):
    assert sign_in(client).status_code == 403
    assert "never pushed this person" in caplog.text and not User.objects.exists()


def test_an_account_from_before_is_connected_by_its_subject(client, configure, pusher):
    configure(scim_token_hashes=(), scim_groups=False)
    sign_in(client)
    user = get_user(client)
    configure()
    ada = pusher.push_user()
    assert ProvisionedUser.objects.get(pk=ada).account.user == user and is_in(client)
    pusher.set_active(ada, False)
    assert not is_in(client)


def test_the_subject_can_be_the_user_name(client, configure, pusher):
    configure(scim_subject="userName")
    ada = pusher.push_user("n-1", "e-1")
    sign_in(client)
    assert User.objects.get().username == "n-1" and is_in(client)
    pusher.push_user("n-2", "e-2")
    assert pusher.patch(f"Users/{ada}", {"op": "replace", "path": "userName", "value": "N-2"}).status_code == 409
    pusher.patch(f"Users/{ada}", {"op": "replace", "path": "userName", "value": "n-3"})
    assert sign_in(Client(), id="assertion-2", name="n-3").status_code == 302
    assert ProviderAccount.objects.get(subject="n-3").user.username == "n-1"


def test_people_from_before_another_subject_in_the_settings_can_still_be_removed(client, configure, pusher):
    configure(scim_subject="userName")
    ada = pusher.push_user("n-1", "")
    configure(scim_subject="externalId")
    sign_in(client)
    assert is_in(client)
    assert pusher.set_active(ada, False).status_code == 200 and not is_in(client)


def test_a_taken_user_name_is_never_taken_over(client, pusher):
    other = make_user("ada@hospital.example", is_superuser=True)
    ada = pusher.push_user()
    made = ProvisionedUser.objects.get(pk=ada).account.user
    assert made != other and made.username == "ada@hospital.example@idp"
    pusher.set_active(ada, False)
    other.refresh_from_db()
    assert other.is_active


def test_a_provider_sees_and_changes_only_its_own_people(configure, pusher, settings):
    (mine,) = settings.SIGN_IN
    settings.SIGN_IN = (mine, saml_provider.settings(mine.metadata, id="other", scim_token_hashes=(HASH,)))
    other = Pusher("other")
    theirs = other.push_user()
    mine = pusher.push_user()
    assert [one["id"] for one in pusher.get("Users").json()["Resources"]] == [mine]
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"schemas": [USER], "userName": "x", "externalId": "x", "Operations": []}
        assert pusher.send(method, f"Users/{theirs}", body).status_code in (400, 404)
    answer = pusher.patch(f"Users/{theirs}", {"op": "replace", "path": "active", "value": False})
    assert answer.status_code == 404 and ProvisionedUser.objects.get(pk=theirs).active
    assert other.get("Groups").status_code == 404, "this provider pushes no groups"


def test_two_simultaneous_requests_make_one_account(transactional_db, configure):
    together = Barrier(2)

    def push(_number: int) -> int:
        try:
            together.wait()
            body = {"schemas": [USER], "userName": "ada@hospital.example", "externalId": "n-1"}
            return Pusher().send("POST", "Users", body).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(push, range(2))) == [201, 409]
    assert User.objects.count() == ProvisionedUser.objects.count() == 1


def test_the_same_person_or_name_is_a_conflict(pusher):
    pusher.push_user()
    for name, key in (("ADA@hospital.example", "n-2"), ("grace@hospital.example", "n-1")):
        answer = pusher.send("POST", "Users", {"schemas": [USER], "userName": name, "externalId": key})
        assert answer.status_code == 409 and answer.json()["scimType"] == "uniqueness"
    grace = pusher.push_user("grace@hospital.example", "n-2")
    for path, value in (("userName", "Ada@hospital.example"), ("externalId", "n-1")):
        assert pusher.patch(f"Users/{grace}", {"op": "replace", "path": path, "value": value}).status_code == 409
    assert User.objects.count() == 2


def test_a_user_can_be_pushed_as_inactive(client, pusher):
    ada = pusher.push_user(active=False)
    assert not User.objects.get().is_active and sign_in(client).status_code == 403
    pusher.set_active(ada, True)
    assert sign_in_again(client).status_code == 302


def test_a_deactivation_here_stays(client, pusher):
    """An administrator here deactivated the account; the provider can't undo that."""
    ada = pusher.push_user()
    User.objects.update(is_active=False)
    pusher.set_active(ada, False)
    pusher.set_active(ada, True)
    assert not User.objects.get().is_active


def test_an_administrator_who_is_named_keeps_the_password(client, pusher, settings):
    settings.PASSWORD_ACCOUNTS = ["root"]
    root = make_user("root")
    link_account(user=root, provider="idp", subject="n-1", actor=None)
    ada = pusher.push_user()
    sign_in(client)
    assert is_in(client)
    pusher.set_active(ada, False)
    root.refresh_from_db()
    assert root.is_active and not is_in(client) and sign_in_again(client).status_code == 403
    client.post("/accounts/login/", {"login": "root", "password": "correct horse battery"})
    assert is_in(client)


def test_what_the_provider_says_is_kept_and_shown(pusher):
    ada = pusher.push_user(
        name={"givenName": "Ada", "familyName": "Lovelace"}, emails=[{"value": "ada@x.example", "type": "work"}]
    )
    user = User.objects.get()
    assert (user.first_name, user.last_name, user.email) == ("Ada", "Lovelace", "")
    answer = pusher.patch(
        f"Users/{ada}",
        {"op": "Replace", "path": "name.familyName", "value": "King"},
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "king@x.example"},
        {"op": "Add", "path": 'emails[type eq "home"].value', "value": "home@x.example"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "7"},
        {"op": "Replace", "path": "externalId", "value": "n-9"},
    )
    shown = answer.json()
    assert shown["name"]["familyName"] == "King" and shown["externalId"] == "n-9"
    assert {one["value"] for one in shown["emails"]} == {"king@x.example", "home@x.example"}
    assert pusher.get(f"Users/{ada}").json() == shown
    assert shown["meta"]["location"] == f"http://testserver/scim/v2/idp/Users/{ada}"
    user.refresh_from_db()
    assert user.last_name == "King" and ProviderAccount.objects.get().subject == "n-9"


def test_an_account_that_is_pushed_does_not_rest_without_sign_ins(client, pusher, clock):
    ada = pusher.push_user()
    sign_in(client)
    account = ProviderAccount.objects.get()
    clock.forward(minutes=UNASKABLE.total_seconds() / 60 + 1)
    assert checking.due() == [account.pk]
    checking.check(account.pk)
    assert checking.due() == [] and User.objects.get().is_active
    clock.forward(minutes=UNASKABLE.total_seconds() / 60 + 1)
    ProvisionedUser.objects.filter(pk=ada).delete()
    checking.check(account.pk)
    assert not User.objects.get().is_active


def test_a_deactivation_during_a_sign_in_leaves_no_session(client, pusher, monkeypatch):
    """The provider deactivates the person after the check of the account, and reactivates them later."""
    ada = pusher.push_user()
    login = signing_in.perform_login

    def deactivated_meanwhile(request, user, **more):
        pusher.set_active(ada, False)
        return login(request, user, **more)

    monkeypatch.setattr(signing_in, "perform_login", deactivated_meanwhile)
    sign_in(client)
    assert not is_in(client)
    pusher.set_active(ada, True)
    assert not is_in(client) and not ProviderSession.objects.exists()


def test_a_provider_of_openid_connect_pushes_too(client, idp, settings):
    """The relay goes on asking; roles follow the groups of SCIM, not those of the claim."""
    settings.SIGN_IN = (replace(*settings.SIGN_IN, scim_token_hashes=(HASH,), scim_groups=True),)
    project = make_project()
    for group in ("pushed", "claimed"):
        role = Role.ANNOTATOR if group == "pushed" else Role.MANAGER
        GroupRole.objects.create(project=project, provider="idp", group=group, role=role)
    idp.person["groups"] = ["claimed"]
    assert oidc_sign_in(client, idp).status_code == 403
    pusher = Pusher()
    ada = pusher.push_user(key="s-1")
    pusher.push_group("pushed", ada)
    oidc_sign_in(client, idp)
    checking.check(ProviderAccount.objects.get().pk)
    assert is_in(client) and Membership.objects.get().role == Role.ANNOTATOR
    idp.removed = True
    checking.check(ProviderAccount.objects.get().pk)
    assert not is_in(client)
    idp.removed = False
    oidc_sign_in(client, idp)
    assert is_in(client)
    pusher.set_active(ada, False)
    assert not is_in(client) and oidc_sign_in(client, idp).status_code == 403
