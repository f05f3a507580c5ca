"""Sign-in by password, sign-out, passwords and one-time links."""

import time

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings
from django.contrib.auth import get_user
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotations.core.access import SecondFactorMissing, enter
from annotations.models import ProviderAccount, Role, User
from annotations.projects.selectors.members import projects_of
from annotations.projects.services.projects import update_project
from tests.factories import PASSWORD, make_member, make_project, make_user
from tests.projects.accounts.signing_in.test_second_factor import secret_of
from tests.worlds.programs import Program
from tests.worlds.signing_in import totp

pytestmark = pytest.mark.django_db
CHANGE = "/accounts/password/change/"


def signed_in(client: Client) -> bool:
    return get_user(client).is_authenticated


def test_the_right_password_signs_in_and_leads_to_a_page_of_ours(client, person, sign_in):
    for evil in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert sign_in(Client(), next=evil).headers["Location"] == reverse(settings.LOGIN_REDIRECT_URL)
    response = sign_in(client, next=CHANGE)
    assert (response.status_code, response.headers["Location"]) == (302, CHANGE) and signed_in(client)
    cookie = response.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    assert not cookie["max-age"] and not cookie["expires"], "the cookie ends with the browser"


def test_a_wrong_password_gives_one_error_and_keeps_the_name(client, person, sign_in):
    response = sign_in(client, password="not it")
    page = response.text
    assert response.status_code == 200 and not signed_in(client)
    assert page.count("not correct") == 1 and 'value="ada"' in page and "not it" not in page
    person.is_active = False
    person.save()
    sign_in(client)
    assert not signed_in(client)


def test_unknown_and_known_names_get_the_same_page(client, person, sign_in):
    known = sign_in(client, "ada", "wrong").content.decode()
    unknown = sign_in(client, "bob", "wrong").content.decode()

    def shape(page: str, name: str) -> str:
        return "\n".join(line for line in page.replace(name, "X").splitlines() if "csrf" not in line.lower())

    assert shape(known, "ada") == shape(unknown, "bob")


def test_signing_in_changes_the_session_key(client, person, sign_in):
    client.get("/accounts/login/")
    session = client.session
    session["planted"] = "by a stranger"
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = before = session.session_key
    sign_in(client)
    assert client.session.session_key != before
    stranger = Client()
    stranger.cookies[settings.SESSION_COOKIE_NAME] = before
    assert not signed_in(stranger)


def test_signing_out_needs_a_post_and_ends_the_session(client, person, sign_in):
    sign_in(client)
    key = client.session.session_key
    assert client.get("/accounts/logout/").status_code == 200 and signed_in(client)
    assert client.post("/accounts/logout/").status_code == 302 and not signed_in(client)
    old = Client()
    old.cookies[settings.SESSION_COOKIE_NAME] = key
    assert not signed_in(old)


def test_what_is_closed(client, person):
    data = {"username": "eve", "password1": PASSWORD, "password2": PASSWORD}
    asked = client.get("/accounts/signup/")
    assert asked.status_code == 403 and b"Sign-up is closed" in asked.content
    assert client.post("/accounts/signup/", data).status_code == 405
    page = client.get("/accounts/password/reset/")
    assert page.status_code == 200 and b"manager" in page.content
    assert client.post("/accounts/password/reset/", {"email": "a@b.example"}).status_code == 405
    client.force_login(person)
    for path in ("email/", "confirm-email/", "password/set/", "login/code/", "social/signup/", ""):
        assert client.get(f"/accounts/{path}").status_code == 404, path


def test_changing_the_password_signs_other_browsers_out(client, person, sign_in):
    other, new = Client(), "a new battery staple"
    sign_in(other)
    sign_in(client)
    page = client.post(CHANGE, {"oldpassword": PASSWORD, "password1": "ada1", "password2": "ada1"}).text
    assert "too short" in page and 'aria-invalid="true"' in page
    assert client.post(CHANGE, {"oldpassword": PASSWORD, "password1": new, "password2": new}).status_code == 302
    assert signed_in(client) and not signed_in(other)
    assert [sign_in(Client(), password=each).status_code for each in (PASSWORD, new)] == [200, 302]


def reset_path(user) -> str:
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    return reverse("account_reset_password_from_key", kwargs=key)


def test_a_one_time_link_sets_the_first_password_of_an_account(client, sign_in):
    new = make_user("grace")
    new.set_unusable_password()
    new.save()
    path = reset_path(new)
    form = client.get(path, follow=True)
    # The token is removed from the URL at once.
    assert path not in form.redirect_chain[-1][0]
    password = "a first long password"
    done = client.post(form.redirect_chain[-1][0], {"password1": password, "password2": password}, follow=True)
    assert done.redirect_chain[-1][0] == reverse("projects") and signed_in(client)
    assert sign_in(Client(), "grace", password).status_code == 302
    uid = path.split("/")[-2].split("-")[0]
    for void in (path, f"/accounts/password/reset/key/{uid}-abc-123/"):
        page = Client().get(void)
        assert b"no longer valid" in page.content and b"manager" in page.content


# ── Two-factor sign-in that a project, or the whole instance, requires ──


SECRET = "JBSWY3DPEHPK3PXP"
HEART = "/projects/heart/"


@pytest.fixture
def project(person):
    made = make_project("heart", name="Secret heart", second_factor=True)
    make_member(made, Role.MANAGER, person)
    return made


def enter_code(client, step="authenticate"):
    return client.post(f"/accounts/2fa/{step}/", {"code": totp(SECRET, time.time())})


def test_members_see_nothing_and_are_led_to_set_it_up(client, project, sign_in):
    sign_in(client)
    page = client.get(HEART)
    assert page.status_code == 403 and b"/accounts/2fa/totp/activate/" in page.content
    listed = client.get("/")
    assert b"Secret heart" not in listed.content and b"1 project opens only after" in listed.content
    assert client.get("/accounts/second-factor/").headers["Location"] == "/accounts/2fa/totp/activate/"
    assert client.get(HEART, headers={"Accept": "application/json"}).json()["error"] == "second-factor"


@pytest.mark.django_db(transaction=True)
def test_setting_it_up_opens_the_project(client, project, sign_in):
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = secret_of(client.get("/accounts/2fa/totp/activate/").content)
    client.post("/accounts/2fa/totp/activate/", {"code": totp(secret, time.time())})
    assert client.get(HEART).status_code == 200


def test_a_session_from_before_must_enter_a_code(client, project, person, sign_in):
    sign_in(client)
    TOTP.activate(person, SECRET)
    page = client.get(HEART)
    assert page.status_code == 403 and b"/accounts/2fa/reauthenticate/?next=" in page.content
    enter_code(client, "reauthenticate")
    assert client.get(HEART).status_code == 200


def test_a_code_at_sign_in_is_enough_until_the_person_signs_out(client, project, person, sign_in):
    TOTP.activate(person, SECRET)
    sign_in(client)
    enter_code(client)
    assert client.get(HEART).status_code == 200
    client.post("/accounts/logout/")
    sign_in(client)
    assert client.get(HEART).status_code == 302


def test_what_another_account_showed_does_not_count(client, project, person, sign_in):
    other = make_user("eve")
    TOTP.activate(other, SECRET)
    sign_in(client, "eve")
    enter_code(client)
    assert client.session["second_factor"] == other.pk
    client.force_login(person)
    assert client.get(HEART).status_code == 403


def test_the_instance_may_require_it_everywhere(client, person, sign_in, settings):
    settings.SECOND_FACTOR = True
    sign_in(client)
    for url in ("/", "/help/", "/projects/new/"):
        assert client.get(url).status_code == 403
    assert client.get("/accounts/2fa/").status_code == 200 and client.get("/healthz").status_code == 200
    assert client.post("/accounts/logout/").status_code == 302
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
    project = make_project("heart")
    make_member(project, Role.MANAGER, person)
    sign_in(client)
    assert b'name="second_factor"' in client.get(f"{HEART}settings/").content
    update_project(project=project, actor=person, second_factor=True)
    assert client.get(f"{HEART}settings/").status_code == 403


def test_commands_of_the_server_need_no_second_factor(project, capsys):
    call_command("add_member", "heart", make_user("grace").username, role="viewer")
    assert "user: grace\nrole: viewer\n" in capsys.readouterr().out


def test_a_token_lists_and_opens_no_closed_project(project, person):
    program = Program(person, "read")
    assert program.get(f"{HEART}notes").status_code == 403
    assert not projects_of(User.objects.get(pk=person.pk)).exists()
    TOTP.activate(person, SECRET)
    assert program.get(f"{HEART}notes").status_code == 200
    assert projects_of(User.objects.get(pk=person.pk)).exists()
    User.objects.update(is_active=False)
    assert program.get(f"{HEART}notes").status_code == 401


# ── Passwords of named accounts only ─────────────────────────────────────────────────────────────────────────────────


def test_only_named_accounts_sign_in_with_a_password(client, settings, person, sign_in):
    settings.PASSWORD_ACCOUNTS = ["root"]
    named = "annotations.projects.services.accounts.NamedAccountBackend"
    settings.AUTHENTICATION_BACKENDS = [settings.AUTHENTICATION_BACKENDS[0], named]
    page = client.get("/accounts/login/")
    assert b'name="password"' not in page.content and b'href="/accounts/login/?password"' in page.content
    assert b'name="password"' in client.get("/accounts/login/?password").content
    assert b"inactive" not in sign_in(client).content and not get_user(client).is_authenticated
    make_user("root")
    sign_in(client, "root")
    assert get_user(client).username == "root"


def test_a_link_for_a_new_password_does_not_replace_the_second_factor(client, person):
    TOTP.activate(person, SECRET)
    key = {"uidb36": user_pk_to_url_str(person), "key": default_token_generator.make_token(person)}
    form = client.get(reverse("account_reset_password_from_key", kwargs=key), follow=True).redirect_chain[-1][0]
    new = "una frase lunga 9"
    assert client.post(form, {"password1": new, "password2": new}).url == reverse("mfa_authenticate")
    assert "_auth_user_id" not in client.session
