"""Groups that a provider pushes: roles in projects follow at once."""

import pytest
from django.contrib.auth import get_user

from annotations.models import Membership, ProvisionedGroup, ProvisionedUser, Role, User
from annotations.projects.services.providers.checking import map_group, unmap_group
from tests.projects.providers.test_saml import sign_in
from tests.worlds.scim_provider import GROUP


def role_of(user: str) -> str | None:
    found = Membership.objects.filter(user__provider_accounts=ProvisionedUser.objects.get(pk=user).account, active=True)
    return found.values_list("role", flat=True).first()


def add(user: str) -> dict:
    return {"op": "Add", "path": "members", "value": [{"value": user}]}


def test_roles_follow_the_groups_at_once_and_at_sign_in(client, pusher, project):
    ada = pusher.push_user()
    sign_in(client, groups=("heads",))
    page = f"/projects/{project.slug}/"
    assert client.get(page).status_code == 404, "groups of the sign-in don't count beside those of SCIM"
    readers = pusher.push_group("readers", ada)
    assert role_of(ada) == Role.ANNOTATOR and client.get(page).status_code == 200
    heads = pusher.push_group("heads")
    pusher.patch(f"Groups/{heads}", add(ada))
    assert role_of(ada) == Role.MANAGER
    client.post("/accounts/logout/")
    sign_in(client, id="assertion-2")
    assert role_of(ada) == Role.MANAGER and get_user(client).is_authenticated
    pusher.patch(f"Groups/{heads}", {"op": "Remove", "path": f'members[value eq "{ada}"]'})
    assert role_of(ada) == Role.ANNOTATOR and pusher.send("DELETE", f"Groups/{readers}").status_code == 204
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
        assert role_of(ada) == Role.ANNOTATOR
        assert pusher.patch(group, operation).status_code == 200 and role_of(ada) is None
        pusher.send("DELETE", group)


def test_put_replaces_name_and_members(pusher, project):
    ada, grace = pusher.push_user(), pusher.push_user("grace", "n-2")
    group = pusher.push_group("readers", ada)
    body = {"schemas": [GROUP], "displayName": "heads", "members": [{"value": grace}]}
    answer = pusher.send("PUT", f"Groups/{group}", body).json()
    assert [one["value"] for one in answer["members"]] == [grace] and answer["displayName"] == "heads"
    assert (role_of(ada), role_of(grace)) == (None, Role.MANAGER)


def test_who_returns_gets_the_roles_of_groups_that_changed_meanwhile(pusher, project):
    ada = pusher.push_user()
    readers = pusher.push_group("readers", ada)
    pusher.set_active(ada, False)
    assert pusher.patch(f"Groups/{pusher.push_group('heads')}", add(ada)).status_code == 200
    pusher.send("DELETE", f"Groups/{readers}")
    assert not User.objects.get(provider_accounts__subject="n-1").is_active
    pusher.set_active(ada, True)
    assert role_of(ada) == Role.MANAGER and pusher.send("DELETE", f"Users/{ada}").status_code == 204
    again = pusher.push_user()
    assert role_of(again) is None, "a user who was deleted and comes back is in no group yet"


def test_a_role_given_to_a_group_reaches_its_members_at_once(client, pusher, project):
    ada = pusher.push_user()
    pusher.push_group("guests", ada)
    row = map_group(project=project, provider="idp", group="guests", role="viewer", actor=None)
    assert role_of(ada) == Role.VIEWER
    unmap_group(row=row, actor=None)
    assert role_of(ada) is None
    client.force_login(User.objects.get(username="mia"))
    url = f"/projects/{project.slug}/groups/"
    answer = client.post(url, {"provider": "idp", "group": "guests", "role": "viewer"}, follow=True)
    assert "Its members have the role now." in answer.content.decode() and role_of(ada) == Role.VIEWER


@pytest.mark.parametrize("scim_groups", [False, True])
def test_who_is_pushed_for_the_first_time_keeps_the_roles_of_sign_ins(client, configure, pusher, project, scim_groups):
    configure(scim_token_hashes=(), scim_groups=False, groups="groups")
    sign_in(client, groups=("readers",))
    configure(scim_groups=scim_groups, groups="" if scim_groups else "groups")
    ada = pusher.push_user()
    assert role_of(ada) == Role.ANNOTATOR
    for active in (False, True):
        pusher.set_active(ada, active)
    assert role_of(ada) == (None if scim_groups else Role.ANNOTATOR)


def test_groups_are_refused_with_a_reason(pusher):
    ada = pusher.push_user()
    group = pusher.push_group("readers", ada)
    for members in ([{"value": group}], [{"value": "x"}], [{"value": "00000000-0000-4000-8000-000000000000"}], [{}]):
        answer = pusher.send("POST", "Groups", {"schemas": [GROUP], "displayName": "new", "members": members})
        assert answer.status_code == 400 and answer.json()["scimType"] == "invalidValue"
    answer = pusher.send("POST", "Groups", {"schemas": [GROUP], "displayName": "readers"})
    assert answer.status_code == 409 and answer.json()["scimType"] == "uniqueness"
    renamed = {"op": "replace", "path": "displayName", "value": "readers"}
    assert pusher.patch(f"Groups/{pusher.push_group('others')}", renamed).status_code == 409
    assert ProvisionedGroup.objects.count() == 2


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
