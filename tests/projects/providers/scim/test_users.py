"""Users that a provider pushes: their accounts, and who is out at once."""

import pytest
from django.contrib.auth import get_user
from django.test import Client

from annotations import models
from annotations.projects.services.providers import signing_in
from annotations.projects.services.providers.checking import map_group, unmap_group
from annotations.projects.services.providers.signing_in import link_account
from tests.factories import PASSWORD, make_member, make_project, make_user, reread
from tests.projects.providers.test_saml import sign_in
from tests.worlds import saml_provider
from tests.worlds.programs import Program
from tests.worlds.scim_provider import GROUP, HASH, USER, Pusher

BODY = {"schemas": [USER], "userName": "ada@hospital.example", "externalId": "n-1"}


@pytest.fixture
def ada(pusher) -> str:
    return pusher.push_user()


def is_in(client: Client) -> bool:
    return client.get("/help/").status_code == 200


def again(client: Client, number: int = 2, **more) -> int:
    """Sign in once more. Return the status."""
    return sign_in(client, id=f"assertion-{number}", **more).status_code


def replacing(path: str, value: object) -> dict[str, object]:
    return {"op": "Replace", "path": path, "value": value}


def test_who_is_deactivated_is_out_with_the_next_request_and_returns(client, pusher, ada):
    sign_in(client)
    user, project = get_user(client), make_project()
    make_member(project, "annotator", user)
    program = Program(user, "read")
    assert is_in(client) and program.get("/projects").status_code == 200

    answer = pusher.set_active(ada, False)
    assert answer.status_code == 200 and answer.json()["active"] is False
    assert not is_in(client) and not models.ProviderSession.objects.exists()
    assert program.get("/projects").status_code == 401 and again(client) == 403
    assert models.Event.objects.filter(verb="account.left", project_id=project.pk).exists()

    assert pusher.set_active(ada, True).json()["active"] is True
    assert not is_in(client), "the session that has ended does not come back"
    assert program.get("/projects").status_code == 200 and again(client, 3) == 302
    assert is_in(client) and get_user(client) == user
    assert models.Event.objects.filter(verb="account.restored", project_id=project.pk).exists()


def test_each_spelling_deactivates(pusher, ada):
    spellings = [
        replacing("active", "False"),  # Entra ID
        {"op": "replace", "value": {"active": False}},  # Okta
        {"op": "add", "path": f"{USER}:active", "value": False},
        {"op": "replace", "value": {f"{USER}:active": "false"}},
    ]
    for number, operation in enumerate(spellings):
        pusher.set_active(ada, True)
        browser = Client()
        again(browser, number)
        assert is_in(browser) and pusher.patch(f"Users/{ada}", operation).status_code == 200
        assert not is_in(browser), operation


def test_put_deactivates_and_without_active_leaves_as_it_is(client, pusher, ada):
    sign_in(client)
    for more, active in (({}, True), ({"active": False}, False), ({}, False)):
        assert pusher.send("PUT", f"Users/{ada}", BODY | more).json()["active"] is active
        assert is_in(client) == models.User.objects.get().is_active == active


def test_who_is_deleted_is_out_and_the_same_account_returns(client, pusher, ada):
    sign_in(client)
    user = get_user(client)
    answer = pusher.send("DELETE", f"Users/{ada}")
    assert (answer.status_code, answer.content) == (204, b"") and not is_in(client) and again(client) == 403
    assert pusher.get(f"Users/{ada}").status_code == pusher.send("DELETE", f"Users/{ada}").status_code == 404
    assert pusher.push_user("ada.lovelace@hospital.example") != ada and not is_in(client)
    again(client, 3)
    assert get_user(client) == user and models.User.objects.count() == 1


def test_nobody_signs_in_whom_the_provider_did_not_push(client, pusher, caplog):
    assert sign_in(client).status_code == 403
    assert "never pushed this person" in caplog.text and not models.User.objects.exists()


def test_an_account_from_before_is_connected_by_its_subject(client, configure, pusher):
    configure(scim_token_hashes=(), scim_groups=False)
    sign_in(client)
    user = get_user(client)
    configure()
    ada = pusher.push_user()
    assert models.ProvisionedUser.objects.get(pk=ada).account.user == user and is_in(client)
    pusher.set_active(ada, False)
    assert not is_in(client)


def test_the_subject_can_be_the_user_name(client, configure, pusher):
    configure(scim_subject="userName")
    ada = pusher.push_user("n-1", "e-1")
    sign_in(client)
    assert models.User.objects.get().username == "n-1" and is_in(client)
    pusher.push_user("n-2", "e-2")
    assert pusher.patch(f"Users/{ada}", replacing("userName", "N-2")).status_code == 409
    pusher.patch(f"Users/{ada}", replacing("userName", "n-3"))
    assert again(Client(), name="n-3") == 302
    assert models.ProviderAccount.objects.get(subject="n-3").user.username == "n-1"
    # People from before another subject in the settings can still be removed.
    ada = pusher.push_user("n-9", "")
    configure(scim_subject="externalId")
    browser = Client()
    again(browser, 3, name="n-9")
    assert is_in(browser) and pusher.set_active(ada, False).status_code == 200 and not is_in(browser)


def test_a_taken_user_name_is_never_taken_over(pusher):
    other = make_user("ada@hospital.example", is_superuser=True)
    ada = pusher.push_user()
    made = models.ProvisionedUser.objects.get(pk=ada).account.user
    assert made != other and made.username == "ada@hospital.example@idp"
    pusher.set_active(ada, False)
    assert reread(other).is_active


def test_a_provider_sees_and_changes_only_its_own_people(pusher, settings, ada):
    (mine,) = settings.SIGN_IN
    settings.SIGN_IN = (mine, saml_provider.settings(mine.metadata, id="other", scim_token_hashes=(HASH,)))
    other = Pusher("other")
    theirs = other.push_user()
    assert [one["id"] for one in pusher.get("Users").json()["Resources"]] == [ada]
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        assert pusher.send(method, f"Users/{theirs}", BODY | {"Operations": []}).status_code in (400, 404)
    assert pusher.set_active(theirs, False).status_code == 404 and models.ProvisionedUser.objects.get(pk=theirs).active
    assert other.get("Groups").status_code == 404, "this provider pushes no groups"


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_requests_make_one_account(configure, at_once):
    assert sorted(at_once(*[lambda: Pusher().send("POST", "Users", BODY).status_code] * 2)) == [201, 409]
    assert models.User.objects.count() == models.ProvisionedUser.objects.count() == 1


def test_the_same_person_or_name_is_a_conflict(pusher, ada):
    for name, key in (("ADA@hospital.example", "n-2"), ("grace@hospital.example", "n-1")):
        answer = pusher.send("POST", "Users", BODY | {"userName": name, "externalId": key})
        assert answer.status_code == 409 and answer.json()["scimType"] == "uniqueness"
    grace = pusher.push_user("grace@hospital.example", "n-2")
    for path, value in (("userName", "Ada@hospital.example"), ("externalId", "n-1")):
        assert pusher.patch(f"Users/{grace}", replacing(path, value)).status_code == 409
    assert models.User.objects.count() == 2


def test_a_user_can_be_pushed_as_inactive_but_not_reactivated_against_a_deactivation_here(client, pusher):
    ada = pusher.push_user(active=False)
    assert not models.User.objects.get().is_active and sign_in(client).status_code == 403
    pusher.set_active(ada, True)
    assert again(client) == 302
    models.User.objects.update(is_active=False)  # by an administrator here
    for active in (False, True):
        pusher.set_active(ada, active)
    assert not models.User.objects.get().is_active


def test_an_administrator_who_is_named_keeps_the_password(client, pusher, settings):
    settings.PASSWORD_ACCOUNTS = ["root"]
    root = make_user("root")
    link_account(user=root, provider="idp", subject="n-1", actor=None)
    ada = pusher.push_user()
    sign_in(client)
    assert is_in(client)
    pusher.set_active(ada, False)
    assert reread(root).is_active and not is_in(client) and again(client) == 403
    client.post("/accounts/login/", {"login": "root", "password": PASSWORD})
    assert is_in(client)


def test_what_the_provider_says_is_kept_and_shown(pusher):
    emails = [{"value": "ada@x.example", "type": "work"}]
    ada = pusher.push_user(name={"givenName": "Ada", "familyName": "Lovelace"}, emails=emails)
    user = models.User.objects.get()
    assert (user.first_name, user.last_name, user.email) == ("Ada", "Lovelace", "")
    shown = pusher.patch(
        f"Users/{ada}",
        replacing("name.familyName", "King"),
        replacing('emails[type eq "work"].value', "king@x.example"),
        {"op": "Add", "path": 'emails[type eq "home"].value', "value": "home@x.example"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "7"},
        replacing("externalId", "n-9"),
    ).json()
    assert shown["name"]["familyName"] == "King" and shown["externalId"] == "n-9"
    assert {one["value"] for one in shown["emails"]} == {"king@x.example", "home@x.example"}
    assert pusher.get(f"Users/{ada}").json() == shown
    assert shown["meta"]["location"] == f"http://testserver/scim/v2/idp/Users/{ada}"
    assert reread(user).last_name == "King" and models.ProviderAccount.objects.get().subject == "n-9"


def test_a_deactivation_during_a_sign_in_leaves_no_session(client, pusher, ada, monkeypatch):
    """The provider deactivates the person after the check of the account, and reactivates them later."""
    login = signing_in.perform_login

    def deactivated_meanwhile(request, user, **more):
        pusher.set_active(ada, False)
        return login(request, user, **more)

    monkeypatch.setattr(signing_in, "perform_login", deactivated_meanwhile)
    sign_in(client)
    assert not is_in(client)
    pusher.set_active(ada, True)
    assert not is_in(client) and not models.ProviderSession.objects.exists()


# ── Groups that a provider pushes: roles in projects follow at once ──


def role_of(user: str) -> str | None:
    account = models.ProvisionedUser.objects.get(pk=user).account
    found = models.Membership.objects.filter(user__provider_accounts=account, active=True)
    return found.values_list("role", flat=True).first()


def add(user: str) -> dict:
    return {"op": "Add", "path": "members", "value": [{"value": user}]}


def test_roles_follow_the_groups_at_once_and_at_sign_in(client, pusher, project):
    ada = pusher.push_user()
    sign_in(client, groups=("heads",))
    page = f"/projects/{project.slug}/"
    assert client.get(page).status_code == 404, "groups of the sign-in don't count beside those of SCIM"
    readers = pusher.push_group("readers", ada)
    assert role_of(ada) == models.Role.ANNOTATOR and client.get(page).status_code == 200
    heads = pusher.push_group("heads")
    pusher.patch(f"Groups/{heads}", add(ada))
    assert role_of(ada) == models.Role.MANAGER
    client.post("/accounts/logout/")
    sign_in(client, id="assertion-2")
    assert role_of(ada) == models.Role.MANAGER and get_user(client).is_authenticated
    pusher.patch(f"Groups/{heads}", {"op": "Remove", "path": f'members[value eq "{ada}"]'})
    assert role_of(ada) == models.Role.ANNOTATOR and pusher.send("DELETE", f"Groups/{readers}").status_code == 204
    assert role_of(ada) is None and client.get(page).status_code == 404


def test_each_spelling_takes_the_role(pusher, project):
    ada = pusher.push_user()
    for operation in (
        {"op": "Remove", "path": f'members[value eq "{ada}"]'},
        {"op": "Remove", "path": "members", "value": [{"value": ada}]},  # Entra ID
        {"op": "remove", "path": "members"},
        {"op": "replace", "path": "members", "value": []},
        {"op": "replace", "value": {"members": []}},
        {"op": "replace", "path": "displayName", "value": "others"},
    ):
        group = f"Groups/{pusher.push_group('readers', ada)}"
        assert role_of(ada) == models.Role.ANNOTATOR
        assert pusher.patch(group, operation).status_code == 200 and role_of(ada) is None
        pusher.send("DELETE", group)


def test_put_replaces_name_and_members(pusher, project):
    ada, grace = pusher.push_user(), pusher.push_user("grace", "n-2")
    group = pusher.push_group("readers", ada)
    body = {"schemas": [GROUP], "displayName": "heads", "members": [{"value": grace}]}
    answer = pusher.send("PUT", f"Groups/{group}", body).json()
    assert [one["value"] for one in answer["members"]] == [grace] and answer["displayName"] == "heads"
    assert (role_of(ada), role_of(grace)) == (None, models.Role.MANAGER)


def test_who_returns_gets_the_roles_of_groups_that_changed_meanwhile(pusher, project):
    ada = pusher.push_user()
    readers = pusher.push_group("readers", ada)
    pusher.set_active(ada, False)
    assert pusher.patch(f"Groups/{pusher.push_group('heads')}", add(ada)).status_code == 200
    pusher.send("DELETE", f"Groups/{readers}")
    assert not models.User.objects.get(provider_accounts__subject="n-1").is_active
    pusher.set_active(ada, True)
    assert role_of(ada) == models.Role.MANAGER and pusher.send("DELETE", f"Users/{ada}").status_code == 204
    assert role_of(pusher.push_user()) is None, "a user who was deleted and comes back is in no group yet"


def test_a_role_given_to_a_group_reaches_its_members_at_once(client, pusher, project):
    ada = pusher.push_user()
    pusher.push_group("guests", ada)
    row = map_group(project=project, provider="idp", group="guests", role="viewer", actor=None)
    assert role_of(ada) == models.Role.VIEWER
    unmap_group(row=row, actor=None)
    assert role_of(ada) is None
    client.force_login(models.User.objects.get(username="mia"))
    url = f"/projects/{project.slug}/groups/"
    answer = client.post(url, {"provider": "idp", "group": "guests", "role": "viewer"}, follow=True)
    assert "Its members have the role now." in answer.content.decode() and role_of(ada) == models.Role.VIEWER


@pytest.mark.parametrize("scim_groups", [False, True])
def test_who_is_pushed_for_the_first_time_keeps_the_roles_of_sign_ins(client, configure, pusher, project, scim_groups):
    configure(scim_token_hashes=(), scim_groups=False, groups="groups")
    sign_in(client, groups=("readers",))
    configure(scim_groups=scim_groups, groups="" if scim_groups else "groups")
    ada = pusher.push_user()
    assert role_of(ada) == models.Role.ANNOTATOR
    for active in (False, True):
        pusher.set_active(ada, active)
    assert role_of(ada) == (None if scim_groups else models.Role.ANNOTATOR)


def test_groups_are_refused_with_a_reason(pusher):
    group = pusher.push_group("readers", pusher.push_user())
    for members in ([{"value": group}], [{"value": "x"}], [{"value": "00000000-0000-4000-8000-000000000000"}], [{}]):
        answer = pusher.send("POST", "Groups", {"schemas": [GROUP], "displayName": "new", "members": members})
        assert answer.status_code == 400 and answer.json()["scimType"] == "invalidValue"
    answer = pusher.send("POST", "Groups", {"schemas": [GROUP], "displayName": "readers"})
    assert answer.status_code == 409 and answer.json()["scimType"] == "uniqueness"
    renamed = {"op": "replace", "path": "displayName", "value": "readers"}
    assert pusher.patch(f"Groups/{pusher.push_group('others')}", renamed).status_code == 409
    assert models.ProvisionedGroup.objects.count() == 2


def test_groups_are_found_by_name_and_member(pusher):
    ada, grace = pusher.push_user(), pusher.push_user("grace", "n-2")
    readers = pusher.push_group("readers", ada, grace)
    pusher.push_group("heads", grace)

    def found(text: str, **more: str) -> list[dict]:
        return pusher.get("Groups", filter=text, **more).json()["Resources"]

    (one,) = found('displayName eq "readers"', excludedAttributes="members")
    assert one["id"] == readers and "members" not in one
    assert [each["id"] for each in found(f'id eq "{readers}" and members eq "{ada}"')] == [readers]
    assert len(found(f'members.value eq "{grace}"')) == 2 and found('displayName eq "Readers"') == []
    assert "members" not in pusher.get(f"Groups/{readers}", attributes="displayName").json()
    assert len(pusher.get(f"Groups/{readers}").json()["members"]) == 2
