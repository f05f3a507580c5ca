"""Sign-in by password, sign-out, passwords and one-time links."""

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.contrib.auth import get_user
from django.test import Client
from django.urls import reverse

from tests.factories import PASSWORD, make_user

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
