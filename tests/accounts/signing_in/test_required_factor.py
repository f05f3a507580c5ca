"""Two-factor sign-in that a project, or the whole instance, requires."""

import time

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core.management import call_command

from annotations.core.access import SecondFactorMissing, enter
from annotations.models import ProviderAccount, Role, User
from tests.factories import PASSWORD, make_member, make_project, make_user
from tests.worlds.signing_in import totp

pytestmark = pytest.mark.django_db
SECRET = "JBSWY3DPEHPK3PXP"
SCRIPT = {"Accept": "application/json"}


@pytest.fixture
def project(person):
    made = make_project(name="Secret heart", second_factor=True)
    make_member(made, Role.MANAGER, person)
    return made


def test_members_see_nothing_and_are_led_to_set_it_up(client, project, sign_in):
    sign_in(client)
    page = client.get(f"/projects/{project.slug}/")
    assert page.status_code == 403 and b"/accounts/2fa/totp/activate/" in page.content
    listed = client.get("/")
    assert b"Secret heart" not in listed.content and b"1 project opens only after" in listed.content
    assert client.get("/accounts/second-factor/").headers["Location"] == "/accounts/2fa/totp/activate/"
    answer = client.get(f"/projects/{project.slug}/", headers=SCRIPT)
    assert answer.json()["error"] == "second-factor"


def test_setting_it_up_opens_the_project(client, project, person, sign_in):
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    from tests.accounts.signing_in.test_second_factor import secret_of

    secret = secret_of(client.get("/accounts/2fa/totp/activate/").content)
    with_hooks = client.post("/accounts/2fa/totp/activate/", {"code": totp(secret, time.time())})
    assert with_hooks.status_code == 302


def test_a_session_from_before_must_enter_a_code(client, project, person, sign_in):
    sign_in(client)
    TOTP.activate(person, SECRET)
    page = client.get(f"/projects/{project.slug}/")
    assert page.status_code == 403 and b"/accounts/2fa/reauthenticate/?next=" in page.content
    client.post("/accounts/2fa/reauthenticate/", {"code": totp(SECRET, time.time())})
    assert client.get(f"/projects/{project.slug}/").status_code == 200


def test_a_code_at_sign_in_is_enough_until_the_person_signs_out(client, project, person, sign_in):
    TOTP.activate(person, SECRET)
    sign_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": totp(SECRET, time.time())})
    assert client.get(f"/projects/{project.slug}/").status_code == 200
    client.post("/accounts/logout/")
    sign_in(client)
    assert client.get(f"/projects/{project.slug}/").status_code == 302


def test_what_another_account_showed_does_not_count(client, project, person, sign_in):
    other = make_user("eve")
    TOTP.activate(other, SECRET)
    sign_in(client, "eve")
    client.post("/accounts/2fa/authenticate/", {"code": totp(SECRET, time.time())})
    session = client.session
    assert session["second_factor"] == other.pk
    client.force_login(person)
    assert client.get(f"/projects/{project.slug}/").status_code == 403


def test_the_instance_may_require_it_everywhere(client, person, sign_in, settings):
    settings.SECOND_FACTOR = True
    sign_in(client)
    for url in ("/", "/help/", "/projects/new/"):
        assert client.get(url).status_code == 403
    assert client.get("/accounts/2fa/").status_code == 200
    assert client.get("/healthz").status_code == 200
    assert client.post("/accounts/logout/").status_code == 302


def test_the_admin_is_closed_too(client, sign_in, settings):
    settings.SECOND_FACTOR = True
    User.objects.create_superuser("root", password=PASSWORD)
    sign_in(client, "root")
    assert client.get("/admin/").status_code == 403


def test_outside_sessions_the_account_must_have_one(project, person):
    """As for the tokens of the API."""
    with pytest.raises(SecondFactorMissing):
        enter(User.objects.get(pk=person.pk), project.slug)
    ProviderAccount.objects.create(user=person, provider="idp", subject="s", second_factor=True)
    assert enter(User.objects.get(pk=person.pk), project.slug).project == project
    ProviderAccount.objects.update(second_factor=False)
    TOTP.activate(person, SECRET)
    assert enter(User.objects.get(pk=person.pk), project.slug).project == project


def test_a_manager_requires_it_in_the_settings(client, person, sign_in):
    from annotations.projects.services.projects import update_project

    project = make_project()
    make_member(project, Role.MANAGER, person)
    sign_in(client)
    assert b"Require two-factor sign-in" in client.get(f"/projects/{project.slug}/settings/").content
    update_project(project=project, actor=person, second_factor=True)
    assert client.get(f"/projects/{project.slug}/settings/").status_code == 403


# ── Passwords of named accounts only ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def named_only(settings):
    settings.PASSWORD_ACCOUNTS = ["root"]
    settings.AUTHENTICATION_BACKENDS = [
        settings.AUTHENTICATION_BACKENDS[0],
        "annotations.accounts.services.passwords.NamedAccountsOnly",
    ]


def test_only_named_accounts_sign_in_with_a_password(client, named_only, person, sign_in):
    from django.contrib.auth import get_user

    page = client.get("/accounts/login/")
    assert b'name="password"' not in page.content and b'href="/accounts/login/?password"' in page.content
    assert b'name="password"' in client.get("/accounts/login/?password").content
    assert b"inactive" not in sign_in(client).content and not get_user(client).is_authenticated
    make_user("root")
    sign_in(client, "root")
    assert get_user(client).username == "root"


def test_commands_of_the_server_need_no_second_factor(project, capsys):
    call_command("add_member", project.slug, make_user("grace").username, role="viewer")
    assert "grace is now viewer" in capsys.readouterr().out


def test_a_token_lists_and_opens_no_closed_project(client, project, person):
    from annotations.api.selectors import projects_of
    from annotations.api.services.tokens import create_token

    _, secret = create_token(user=person, name="a program", scope="read", days=1, project=None, actor=person)
    url, bearer = f"/api/v1/projects/{project.slug}/notes", {"Authorization": f"Bearer {secret}"}
    assert client.get(url, headers=bearer).status_code == 403
    assert not projects_of(User.objects.get(pk=person.pk)).exists()
    TOTP.activate(person, SECRET)
    assert client.get(url, headers=bearer).status_code == 200
    assert projects_of(User.objects.get(pk=person.pk)).exists()
    User.objects.update(is_active=False)
    assert client.get(url, headers=bearer).status_code == 401
