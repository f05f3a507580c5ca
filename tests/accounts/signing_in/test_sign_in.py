from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth import get_user
from django.test import Client
from django.urls import reverse

from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db


def signed_in(client: Client) -> bool:
    return get_user(client).is_authenticated


def test_the_right_password_signs_in_and_redirects(client, person, sign_in):
    response = sign_in(client, next="/accounts/password/change/")
    assert response.status_code == 302
    assert response.headers["Location"] == "/accounts/password/change/"
    assert signed_in(client)


def test_a_wrong_password_gives_one_error_and_keeps_the_name(client, person, sign_in):
    response = sign_in(client, password="not it")
    page = response.content.decode()
    assert response.status_code == 200 and not signed_in(client)
    assert page.count("not correct") == 1 and 'value="ada"' in page and "not it" not in page


@pytest.mark.parametrize("next_url", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_nobody_is_redirected_to_another_site(client, person, sign_in, next_url):
    assert sign_in(client, next=next_url).headers["Location"] == reverse(settings.LOGIN_REDIRECT_URL)


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


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(client, person, sign_in):
    cookie = sign_in(client).cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    # The cookie ends with the browser.
    assert not cookie["max-age"] and not cookie["expires"]


def test_signing_out_needs_a_post_and_ends_the_session(client, person, sign_in):
    sign_in(client)
    key = client.session.session_key
    assert client.get("/accounts/logout/").status_code == 200 and signed_in(client)
    assert client.post("/accounts/logout/").status_code == 302 and not signed_in(client)
    old = Client()
    old.cookies[settings.SESSION_COOKIE_NAME] = key
    assert not signed_in(old)


def test_a_disabled_account_cannot_sign_in(client, person, sign_in):
    person.is_active = False
    person.save()
    sign_in(client)
    assert not signed_in(client)


@pytest.mark.parametrize("method", ["get", "post"])
def test_sign_up_is_closed(client, method):
    data = {"username": "eve", "password1": PASSWORD, "password2": PASSWORD}
    response = getattr(client, method)("/accounts/signup/", data)
    assert response.status_code == (403 if method == "get" else 405)
    if method == "get":
        assert b"Sign-up is closed" in response.content


def test_a_forgotten_password_page_refers_to_the_manager(client):
    page = client.get("/accounts/password/reset/")
    assert page.status_code == 200 and b"manager" in page.content
    assert client.post("/accounts/password/reset/", {"email": "a@b.example"}).status_code == 405


@pytest.mark.parametrize("path", ["email/", "confirm-email/", "password/set/", "login/code/", "social/signup/", ""])
def test_pages_that_need_mail_do_not_exist(client, person, path):
    client.force_login(person)
    assert client.get("/accounts/" + path).status_code == 404


def test_changing_the_password_signs_other_browsers_out(client, person, sign_in):
    other = Client()
    sign_in(other)
    sign_in(client)
    new = "a new battery staple"
    response = client.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert response.status_code == 302
    assert signed_in(client) and not signed_in(other)
    assert sign_in(Client(), password=PASSWORD).status_code == 200
    assert sign_in(Client(), password=new).status_code == 302


def test_weak_passwords_are_refused_with_the_reason(client, person, sign_in):
    sign_in(client)
    page = client.post(
        "/accounts/password/change/", {"oldpassword": PASSWORD, "password1": "ada1", "password2": "ada1"}
    ).content.decode()
    assert "too short" in page and 'aria-invalid="true"' in page


def reset_path(user) -> str:
    from allauth.account.forms import default_token_generator
    from allauth.account.utils import user_pk_to_url_str

    return reverse(
        "account_reset_password_from_key",
        kwargs={"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)},
    )


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
    assert b"Your password was saved" in done.content
    assert sign_in(client, "grace", password).status_code == 302
    again = Client().get(path)
    assert b"no longer valid" in again.content


def test_an_invalid_link_says_what_to_do(client, person):
    uid = urlsplit(reset_path(person)).path.split("/")[-2].split("-")[0]
    page = client.get(f"/accounts/password/reset/key/{uid}-abc-123/")
    assert b"no longer valid" in page.content and b"manager" in page.content


def test_pages_send_strangers_to_sign_in_and_back(client, person, sign_in):
    response = client.get("/accounts/password/change/?a=1")
    assert response.headers["Location"] == "/accounts/login/?next=/accounts/password/change/%3Fa%3D1"
    assert b'name="next"' in client.get(response.headers["Location"]).content


def test_scripts_get_401_instead_of_the_sign_in_page(client):
    json = client.post("/accounts/password/change/", "{}", content_type="application/json")
    assert json.status_code == 401 and json.json() == {"error": "signed-out"}
    htmx = client.get(
        "/accounts/password/change/",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/projects/x/notes/?page=2"},
    )
    assert htmx.status_code == 401
    assert htmx.headers["HX-Redirect"] == "/accounts/login/?next=/projects/x/notes/"


def test_htmx_is_not_redirected_to_another_site(client):
    htmx = client.get(
        "/accounts/password/change/", headers={"HX-Request": "true", "HX-Current-URL": "https://evil.example/x"}
    )
    assert htmx.headers["HX-Redirect"] == "/accounts/login/"
