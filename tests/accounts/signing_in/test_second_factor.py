import re
import time

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import get_user
from django.core.cache import cache
from django.test import Client

from tests.factories import PASSWORD, make_user
from tests.worlds.signing_in import totp

pytestmark = pytest.mark.django_db
LIMIT = settings.AXES_FAILURE_LIMIT
ACTIVATE, STEP = "/accounts/2fa/totp/activate/", "/accounts/2fa/authenticate/"


def secret_of(page: bytes) -> str:
    found = re.search(rb'<code class="secret"[^>]*>([A-Z2-7]+)</code>', page)
    assert found
    return found[1].decode()


@pytest.fixture
def guarded(client, person, sign_in, clock):
    """Give Ada an authenticator app, and return its key."""
    sign_in(client)
    asked = client.get(ACTIVATE)
    assert asked.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post(asked.headers["Location"], {"password": PASSWORD, "next": ACTIVATE})
    page = client.get(ACTIVATE)
    assert b"data:image/svg+xml;base64," in page.content
    secret = secret_of(page.content)
    wrong = client.post(ACTIVATE, {"code": "000000" if totp(secret, clock.now) != "000000" else "111111"})
    assert wrong.status_code == 200 and not Authenticator.objects.exists()
    done = client.post(ACTIVATE, {"code": totp(secret, clock.now)})
    assert done.headers["Location"] == "/accounts/2fa/recovery-codes/"
    client.post("/accounts/logout/")
    clock.forward(minutes=2)
    return secret


def codes_of(page: bytes) -> list[str]:
    return re.findall(r"<li>(\d{8})</li>", page.decode())


def test_the_password_alone_no_longer_signs_in(client, guarded, sign_in):
    assert sign_in(client).headers["Location"].startswith(STEP)
    assert not get_user(client).is_authenticated
    # No page opens between the two steps.
    assert client.get("/accounts/password/change/").status_code == 302


def test_password_and_code_sign_in(client, guarded, sign_in, clock):
    sign_in(client)
    assert client.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 302
    assert get_user(client).is_authenticated


@pytest.mark.parametrize("later", [0, 29, 31, 59])
def test_a_code_works_once_in_all_processes_while_it_is_valid(client, guarded, sign_in, clock, later):
    code = totp(guarded, clock.now + 30)  # of an app whose clock is fast: valid for 90 seconds
    sign_in(client)
    assert client.post(STEP, {"code": code}).status_code == 302
    clock.forward(minutes=later / 60)
    cache.clear()  # as in another process
    other = Client()
    sign_in(other)
    assert other.post(STEP, {"code": code}).status_code == 200
    assert not get_user(other).is_authenticated


def test_an_earlier_code_than_the_last_is_refused(client, guarded, sign_in, clock):
    sign_in(client)
    client.post(STEP, {"code": totp(guarded, clock.now)})
    other = Client()
    sign_in(other)
    assert other.post(STEP, {"code": totp(guarded, clock.now - 30)}).status_code == 200


def test_the_code_that_switched_two_factor_on_counts_as_used(client, person, sign_in, clock):
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = secret_of(client.get(ACTIVATE).content)
    code = totp(secret, clock.now)
    assert client.post(ACTIVATE, {"code": code}).status_code == 302
    cache.clear()
    other = Client()
    sign_in(other)
    assert other.post(STEP, {"code": code}).status_code == 200
    clock.forward(minutes=0.5)
    assert other.post(STEP, {"code": totp(secret, clock.now)}).status_code == 302


def test_a_code_for_a_confirmation_in_a_session_counts_as_used(client, guarded, sign_in, clock):
    sign_in(client)
    client.post(STEP, {"code": totp(guarded, clock.now)})
    clock.forward(minutes=20)
    code = totp(guarded, clock.now)
    for expected in (302, 200):
        cache.clear()
        assert client.post("/accounts/2fa/reauthenticate/", {"code": code}).status_code == expected
    other = Client()
    sign_in(other)
    assert other.post(STEP, {"code": code}).status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_two_simultaneous_requests_with_one_code_one_succeeds(kind, person, sign_in, at_once, monkeypatch):
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
    from allauth.mfa.totp.internal.auth import TOTP

    secret = "JBSWY3DPEHPK3PXP"
    TOTP.activate(person, secret)
    recovery = RecoveryCodes.activate(person).get_unused_codes()[0]
    # As in two processes, which share no memory.
    monkeypatch.setattr(TOTP, "_mark_code_used", lambda self, code: True)
    browsers = [Client(), Client()]
    for browser in browsers:
        sign_in(browser)
    code = recovery if kind == "recovery" else totp(secret, time.time())
    found = at_once(*[lambda browser=browser: browser.post(STEP, {"code": code}).status_code for browser in browsers])
    assert sorted(found) == [200, 302]


def test_a_code_whose_half_minute_just_ended_is_accepted(client, guarded, sign_in, clock):
    sign_in(client)
    assert client.post(STEP, {"code": totp(guarded, clock.now - 30)}).status_code == 302


@pytest.mark.parametrize("seconds", [60, 300])
def test_an_old_code_is_refused(client, guarded, sign_in, clock, seconds):
    sign_in(client)
    page = client.post(STEP, {"code": totp(guarded, clock.now - seconds)})
    assert page.status_code == 200 and b"Incorrect code" in page.content


def test_guessing_codes_locks_from_every_address(client, guarded, sign_in, clock):
    stranger = Client()
    sign_in(stranger)
    for _ in range(LIMIT):
        response = stranger.post(STEP, {"code": "123"})
    assert response.status_code == 429 and b"15 minutes" in response.content
    other = Client(REMOTE_ADDR="10.0.0.9")
    sign_in(other)
    assert other.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 429
    # The browser in which Ada signed in before has its own count.
    sign_in(client)
    assert client.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 302
    clock.forward(minutes=15.1)
    again = Client()
    sign_in(again)
    assert again.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 302


def test_guessing_codes_in_a_known_browser_locks_too(client, guarded, sign_in, clock):
    sign_in(client)
    for _ in range(LIMIT):
        response = client.post(STEP, {"code": "123"})
    assert response.status_code == 429
    assert client.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 429


def test_other_spellings_of_the_name_get_no_additional_guesses(guarded, sign_in, clock):
    stranger = Client()
    for number in range(LIMIT):
        sign_in(stranger, ["ada", "Ada", " ADA"][number % 3])
        response = stranger.post(STEP, {"code": "123"})
    assert response.status_code == 429


def test_a_new_password_gives_no_additional_guesses_of_codes(guarded, sign_in, clock):
    stranger, tried = Client(), 0
    for _ in range(10):
        sign_in(stranger)
        for _ in range(LIMIT - 1):
            tried += stranger.post(STEP, {"code": "123"}).status_code == 200
        clock.forward(minutes=15.1)
    assert tried == 4 * LIMIT
    person = get_user_by_name("ada")
    person.set_password(PASSWORD)
    person.save()
    sign_in(stranger)
    assert stranger.post(STEP, {"code": "123"}).status_code == 429


def test_a_right_code_resets_the_count_of_codes(guarded, sign_in, clock):
    stranger = Client()
    for _ in range(2):
        sign_in(stranger)
        for _ in range(LIMIT - 1):
            assert stranger.post(STEP, {"code": "123"}).status_code == 200
        assert stranger.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 302
        stranger = Client()
        clock.forward(minutes=1)


def test_failed_codes_do_not_lock_the_password_step_of_anyone(client, guarded, sign_in):
    sign_in(client)
    for _ in range(LIMIT):
        client.post(STEP, {"code": "123"})
    make_user("bob")
    assert sign_in(Client(), "bob").status_code == 302


def test_recovery_codes_work_once_each(client, guarded, sign_in, clock):
    sign_in(client)
    client.post(STEP, {"code": totp(guarded, clock.now)})
    clock.forward(minutes=1)
    place = "/accounts/2fa/recovery-codes/"
    asked = client.get(place)
    if asked.status_code == 302:
        client.post(asked.headers["Location"], {"code": totp(guarded, clock.now), "password": PASSWORD})
    codes = codes_of(client.get(place).content)
    assert len(codes) == 10
    assert client.get(place + "download/").content.decode().split() == codes
    for expected in (302, 200):
        browser = Client()
        sign_in(browser)
        assert browser.post(STEP, {"code": codes[0]}).status_code == expected
    assert len(codes_of(client.get(place).content)) == 9
    assert b"9 of 10 unused" in client.get("/accounts/2fa/").content
    client.post(place + "generate/")
    assert not set(codes) & set(codes_of(client.get(place).content))


def test_switching_two_factor_off(client, guarded, sign_in, clock):
    sign_in(client)
    client.post(STEP, {"code": totp(guarded, clock.now)})
    clock.forward(minutes=20)
    place = "/accounts/2fa/totp/deactivate/"
    asked = client.get(place)
    assert "reauthenticate" in asked.headers["Location"]
    client.post(asked.headers["Location"], {"password": PASSWORD, "code": totp(guarded, clock.now)})
    assert client.post(place).status_code == 302
    assert not Authenticator.objects.exists()
    client.post("/accounts/logout/")
    sign_in(client)
    assert get_user(client).is_authenticated


def test_the_admin_does_not_bypass_the_second_factor(client, guarded):
    person = get_user_by_name("ada")
    person.is_staff = person.is_superuser = True
    person.save()
    response = client.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert response.headers["Location"].startswith("/accounts/login/")
    assert not get_user(client).is_authenticated


def test_an_administrator_can_switch_two_factor_off_for_a_person(client, guarded):
    admin = make_user("root", is_staff=True, is_superuser=True)
    client.force_login(admin)
    person = get_user_by_name("ada")
    client.post("/admin/annotations/user/", {"action": "remove_second_factor", "_selected_action": [str(person.pk)]})
    assert not Authenticator.objects.exists()


def get_user_by_name(name: str):
    from annotations.models import User

    return User.objects.get(username=name)
