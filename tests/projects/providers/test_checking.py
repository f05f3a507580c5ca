"""A person who is no longer at the provider is out, and roles follow groups."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotations.models import Event, GroupRole, Membership, ProviderAccount, ProviderSession, Role, User
from annotations.projects.services.members import add_member, remove_member
from annotations.projects.services.projects import archive_project
from annotations.projects.services.providers import checking, signing_in
from annotations.projects.services.providers.checking import map_group
from annotations.projects.services.providers.signing_in import follow_groups, link_account
from tests.factories import make_project, make_user, reread
from tests.projects.providers.test_oidc import sign_in
from tests.waiting import wait_for


def ask_again() -> None:
    checking.check(ProviderAccount.objects.get().pk)


def is_in(client: Client) -> bool:
    return client.get("/help/").status_code == 200


def role_of(user: User, project) -> str | None:
    return Membership.objects.filter(user=user, project=project, active=True).values_list("role", flat=True).first()


def verbs(project) -> set[str]:
    return set(Event.objects.filter(project_id=project.pk).values_list("verb", flat=True))


def test_who_is_removed_at_the_provider_is_out(client, idp, project):
    idp.person["groups"] = ["readers"]
    sign_in(client, idp)
    user = get_user(client)
    ask_again()
    assert is_in(client)
    idp.removed = True
    ask_again()
    assert not is_in(client)
    assert not reread(user).is_active and not ProviderSession.objects.exists() and "account.left" in verbs(project)
    idp.removed = False
    sign_in(client, idp)
    assert get_user(client) == user and role_of(user, project) == Role.ANNOTATOR and "account.back" in verbs(project)


def test_everybody_is_asked_about_within_a_minute_and_once(client, idp, clock, monkeypatch):
    sign_in(client, idp)
    assert checking.due() == []
    clock.forward(minutes=0.5)
    account = ProviderAccount.objects.select_related("user").get()
    assert checking.due() == [account.pk]
    ask_again()
    assert checking.due() == []
    # Another relay read the account before, and finds that it was asked about meanwhile.
    idp.asked.clear()
    read = type("Q", (), {"get": lambda *_, **__: account})()
    monkeypatch.setattr(ProviderAccount.objects, "select_related", lambda *_: read)
    checking.check(account.pk)
    assert idp.asked == []


@pytest.mark.django_db(transaction=True)
def test_the_relay_asks_beside_its_work(client, idp):
    sign_in(client, idp)
    idp.removed = True
    ProviderAccount.objects.update(next_check_at=timezone.now() - timedelta(seconds=1))
    checking.step()
    wait_for(lambda: not User.objects.get().is_active, what="the account is deactivated")
    checking._asking[0].join()


def test_a_provider_that_is_away_ends_sessions_only_after_a_while(client, idp, clock, caplog):
    sign_in(client, idp)
    idp.away = True
    ask_again()
    ask_again()
    assert is_in(client) and caplog.text.count("no usable answer") == 1
    clock.forward(minutes=4)
    ask_again()
    assert is_in(client)
    clock.forward(minutes=1.1)
    assert not is_in(client) and User.objects.get().is_active


def test_the_token_for_asking_again_is_sealed_and_replaced(client, idp):
    sign_in(client, idp)
    (first,) = idp.refreshing
    assert first.encode() not in bytes(ProviderAccount.objects.get().sealed)
    for answer in ({"sub": "s-2"}, {}):  # the first is not usable, but the token was replaced
        idp.userinfo = answer
        ask_again()
    assert User.objects.get().is_active and first not in idp.refreshing


def test_an_administrator_who_is_named_can_always_sign_in(client, idp, settings):
    settings.PASSWORD_ACCOUNTS = ["ada"]
    sign_in(client, idp)
    idp.removed = True
    ask_again()
    assert User.objects.get().is_active and not is_in(client)


def test_a_deactivation_here_stays_and_sessions_of_a_provider_that_is_no_longer_configured_end(client, idp, settings):
    sign_in(client, idp)
    User.objects.update(is_active=False)
    assert sign_in(Client(), idp).headers["Location"] == "/accounts/inactive/"
    assert not User.objects.get().is_active
    User.objects.update(is_active=True)
    sign_in(client, idp)
    assert is_in(client)
    settings.SIGN_IN = ()
    assert not is_in(client)


def test_a_request_asks_the_database_only_sometimes(client, idp, monkeypatch, django_assert_num_queries):
    sign_in(client, idp)
    client.get("/help/")
    monkeypatch.setattr(signing_in, "ALIVE_SECONDS", 60.0)
    client.get("/help/")
    with django_assert_num_queries(2):  # the session and the account
        client.get("/help/")


# ── Groups ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_roles_follow_the_groups_at_each_check(client, idp, project):
    idp.person["groups"] = ["readers", "unknown"]
    sign_in(client, idp)
    user = get_user(client)
    assert role_of(user, project) == Role.ANNOTATOR
    strange = (None, [1, None, {"a": 1}], {"heads": True})  # claims of another shape are no error
    known = [(["readers", "heads"], Role.MANAGER), (["heads"], Role.MANAGER), ([], None), ("heads", Role.MANAGER)]
    for groups, role in [*known, *((groups, None) for groups in strange)]:
        idp.person["groups"] = groups
        ask_again()
        assert role_of(user, project) == role
    assert {"member.by_group", "member.left_group"} <= verbs(project)


def test_a_role_and_a_removal_by_hand_stay(idp, project):
    user = make_user()
    follow_groups(user=user, provider="idp", groups=["readers"])
    add_member(project=project, user=user, role=Role.REVIEWER)
    follow_groups(user=user, provider="idp", groups=[])
    assert role_of(user, project) == Role.REVIEWER
    remove_member(project=project, user=user, actor=None)
    follow_groups(user=user, provider="idp", groups=["readers"])
    assert role_of(user, project) is None


def test_the_last_manager_by_group_loses_the_role_but_not_by_another_provider(idp):
    project, user = make_project(), make_user()
    GroupRole.objects.create(project=project, provider="idp", group="heads", role=Role.MANAGER)
    for provider, groups, role in (("idp", ["heads"], "manager"), ("other", [], "manager"), ("idp", [], None)):
        follow_groups(user=user, provider=provider, groups=groups)
        assert role_of(user, project) == role


def test_in_an_archived_project_nobody_gets_a_role_but_loses_it(idp, project):
    kept, new = make_user(), make_user()
    follow_groups(user=kept, provider="idp", groups=["readers"])
    archive_project(project=project, actor=None)
    follow_groups(user=new, provider="idp", groups=["readers"])
    follow_groups(user=kept, provider="idp", groups=[])
    assert role_of(new, project) is None and role_of(kept, project) is None


def test_a_manager_maps_groups_on_a_page(client, idp, project):
    client.force_login(User.objects.get(username="mia"))
    url = f"/projects/{project.slug}/groups/"
    assert b"readers" in client.get(url).content
    assert client.post(url, {"provider": "idp", "group": " new ", "role": "viewer"}).status_code == 302
    row = GroupRole.objects.get(group="new")
    assert client.post(url, {"provider": "none", "group": "g", "role": "viewer"}).status_code == 422
    assert client.post(f"{url}{row.pk}/remove").status_code == 302
    assert not GroupRole.objects.filter(pk=row.pk).exists()
    assert {"group.mapped", "group.unmapped"} <= verbs(project)
    assert "new" not in str(list(Event.objects.values_list("data", flat=True)))


def test_the_commands_map_groups_and_link_accounts(client, idp, project, capsys):
    call_command("map_group", project.slug, "idp", "third", role="viewer")
    call_command("map_group", project.slug, "idp", "third", remove=True)
    assert not GroupRole.objects.filter(group="third").exists()
    local = make_user("grace")
    call_command("link_account", "grace", "idp", "s-1")
    assert capsys.readouterr().out.endswith("user: grace\nprovider: idp\n")
    sign_in(client, idp)
    assert get_user(client) == local
    for words, said in (
        (("map_group", project.slug, "none", "g", "--role", "viewer"), "There is no provider “none”"),
        (("link_account", "mia", "idp", "s-1"), "already has the account"),
        (("link_account", "grace", "idp", "s-2"), "somebody else"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command(*words)
    rows = [link_account(user=local, provider="idp", subject="s-1", actor=None) for _ in range(2)]
    assert rows[0] == rows[1], "linking twice does nothing"
    assert map_group(project=project, provider="idp", group="g", role="viewer", actor=None).group == "g"
