import pytest
from django.conf import settings
from django.contrib.auth import get_user
from django.test import Client

from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.django_db
LIMIT = settings.AXES_FAILURE_LIMIT


def fail(client, sign_in, times=LIMIT, username="ada"):
    for _ in range(times):
        response = sign_in(client, username, "wrong")
    return response


def test_too_many_failures_lock_and_say_for_how_long(client, person, sign_in, clock):
    assert fail(client, sign_in, LIMIT - 1).status_code == 200
    response = fail(client, sign_in, 1)
    assert response.status_code == 429
    assert b"15 minutes" in response.content and b"manager" in response.content
    assert response.headers["Retry-After"] == "900"


def test_the_right_password_does_not_help_while_locked(client, person, sign_in, clock):
    fail(client, sign_in)
    assert sign_in(client).status_code == 429
    assert not get_user(client).is_authenticated


def test_the_lock_ends_by_itself_and_trying_does_not_lengthen_it(client, person, sign_in, clock):
    fail(client, sign_in)
    clock.forward(minutes=10)
    response = sign_in(client)
    assert response.status_code == 429 and b"5 minutes" in response.content
    clock.forward(minutes=5.1)
    assert sign_in(client).status_code == 302


def test_names_that_do_not_exist_lock_alike(client, sign_in):
    assert fail(client, sign_in, username="nobody").status_code == 429


def test_others_at_the_same_address_and_the_same_person_elsewhere_go_on(client, person, sign_in):
    make_user("bob")
    fail(client, sign_in)
    assert sign_in(client, "bob").status_code == 302
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_success_starts_the_count_anew(client, person, sign_in):
    fail(client, sign_in, LIMIT - 1)
    assert sign_in(client).status_code == 302
    assert fail(Client(), sign_in, LIMIT - 1).status_code == 200


def test_a_new_password_ends_the_lock(client, person, sign_in):
    from tests.deidreview.test_sign_in import reset_path

    fail(client, sign_in)
    place = client.get(reset_path(person), follow=True).redirect_chain[-1][0]
    new = "a new battery staple"
    client.post(place, {"password1": new, "password2": new})
    assert sign_in(client, password=new).status_code == 302


def test_guessing_the_old_password_of_an_open_session_locks_too(client, person, sign_in):
    sign_in(client)
    for _ in range(LIMIT):
        response = client.post("/accounts/reauthenticate/", {"password": "wrong"})
    assert response.status_code == 429
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 429


def test_scripts_get_json(client, person, sign_in):
    for _ in range(LIMIT):
        response = client.post(
            "/accounts/login/", {"login": "ada", "password": "wrong"}, headers={"Accept": "application/json"}
        )
    assert response.status_code == 429 and response.json() == {"error": "locked-out", "minutes": 15}


def test_the_address_behind_our_proxy_counts_and_cannot_be_forged(settings, rf):
    from deidreview.accounts import client_ip

    request = rf.get("/", headers={"X-Forwarded-For": "6.6.6.6, 10.0.0.7"}, REMOTE_ADDR="127.0.0.1")
    settings.HTTPS = False
    assert client_ip(request) == "127.0.0.1"
    settings.HTTPS = True
    assert client_ip(request) == "10.0.0.7"


def test_no_password_is_kept_with_the_attempts(client, person, sign_in):
    from axes.models import AccessAttempt

    sign_in(client, password="almost my password")
    attempt = AccessAttempt.objects.get()
    assert attempt.username == "ada" and "almost" not in attempt.post_data
