import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings
from django.contrib.auth import get_user
from django.core.cache import cache
from django.test import Client

from tests.factories import PASSWORD, make_user
from tests.worlds.signing_in import totp

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


@pytest.fixture
def enter(sign_in):
    """Enter the password and then a code in a browser. Return the status: 302 if the code was right."""

    def post(browser, code, name="ada"):
        sign_in(browser, name)
        return browser.post(STEP, {"code": code}).status_code

    return post


def codes_of(page: bytes) -> list[str]:
    return re.findall(r"<li>(\d{8})</li>", page.decode())


def test_password_and_code_sign_in(client, guarded, sign_in, clock):
    assert sign_in(client).headers["Location"].startswith(STEP)
    # No page opens between the two steps.
    assert not get_user(client).is_authenticated and client.get("/accounts/password/change/").status_code == 302
    assert client.post(STEP, {"code": totp(guarded, clock.now)}).status_code == 302
    assert get_user(client).is_authenticated


@pytest.mark.parametrize("later", [0, 29, 31, 59])
def test_a_code_works_once_in_all_processes_while_it_is_valid(client, guarded, enter, clock, later):
    code = totp(guarded, clock.now + 30)  # of an app whose clock is fast: valid for 90 seconds
    assert enter(client, code) == 302
    clock.forward(minutes=later / 60)
    cache.clear()  # as in another process
    other = Client()
    assert enter(other, code) == 200 and not get_user(other).is_authenticated


def test_old_codes_are_refused_and_the_one_before_only_counts_if_no_later_one_was_used(client, guarded, enter, clock):
    for seconds in (300, 60):
        assert enter(client, totp(guarded, clock.now - seconds)) == 200
    assert enter(client, totp(guarded, clock.now - 30)) == 302
    assert enter(Client(), totp(guarded, clock.now)) == 302
    assert enter(Client(), totp(guarded, clock.now - 30)) == 200


def test_the_code_that_switched_two_factor_on_counts_as_used(client, person, sign_in, enter, clock):
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = secret_of(client.get(ACTIVATE).content)
    code = totp(secret, clock.now)
    assert client.post(ACTIVATE, {"code": code}).status_code == 302
    cache.clear()
    assert enter(Client(), code) == 200
    clock.forward(minutes=0.5)
    assert enter(Client(), totp(secret, clock.now)) == 302


def test_a_code_for_a_confirmation_in_a_session_counts_as_used(client, guarded, enter, clock):
    enter(client, totp(guarded, clock.now))
    clock.forward(minutes=20)
    code = totp(guarded, clock.now)
    for expected in (302, 200):
        cache.clear()
        assert client.post("/accounts/2fa/reauthenticate/", {"code": code}).status_code == expected
    assert enter(Client(), code) == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_two_simultaneous_requests_with_one_code_one_succeeds(kind, person, sign_in, at_once, monkeypatch):
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


def guess(browser, enter, times=LIMIT, names=("ada",)):
    """Enter wrong codes. Return the statuses."""
    return [enter(browser, "123", names[number % len(names)]) for number in range(times)]


def test_guessing_codes_locks_from_every_address(client, guarded, enter, clock):
    make_user("bob")
    assert guess(Client(), enter, names=("ada", "Ada", " ADA"))[-1] == 429
    assert enter(Client(REMOTE_ADDR="10.0.0.9"), totp(guarded, clock.now)) == 429
    # The browser in which Ada signed in before has its own count, and others sign in.
    assert enter(client, totp(guarded, clock.now)) == 302
    other = Client()
    enter(other, "", "bob")
    assert get_user(other).is_authenticated
    clock.forward(minutes=15.1)
    assert enter(Client(), totp(guarded, clock.now)) == 302


def test_guessing_codes_in_a_known_browser_locks_too(client, guarded, enter, clock):
    assert guess(client, enter)[-1] == enter(client, totp(guarded, clock.now)) == 429


def test_a_new_password_gives_no_additional_guesses_of_codes(person, guarded, enter, clock):
    stranger, tried = Client(), 0
    for _ in range(6):
        tried += guess(stranger, enter, LIMIT - 1).count(200)
        clock.forward(minutes=15.1)
    assert tried == 4 * LIMIT
    person.set_password(PASSWORD)
    person.save()
    assert enter(stranger, "123") == 429


def test_a_right_code_resets_the_count_of_codes(guarded, enter, clock):
    for _ in range(2):
        stranger = Client()
        assert guess(stranger, enter, LIMIT - 1) == [200] * (LIMIT - 1)
        assert enter(stranger, totp(guarded, clock.now)) == 302
        clock.forward(minutes=1)


def test_recovery_codes_work_once_each(client, guarded, enter, clock):
    enter(client, totp(guarded, clock.now))
    clock.forward(minutes=1)
    place = "/accounts/2fa/recovery-codes/"
    asked = client.get(place)
    if asked.status_code == 302:
        client.post(asked.headers["Location"], {"code": totp(guarded, clock.now), "password": PASSWORD})
    codes = codes_of(client.get(place).content)
    assert len(codes) == 10 and client.get(place + "download/").text.split() == codes
    assert [enter(Client(), codes[0]) for _ in range(2)] == [302, 200]
    assert len(codes_of(client.get(place).content)) == 9
    assert b"9 of 10 unused" in client.get("/accounts/2fa/").content
    client.post(place + "generate/")
    assert not set(codes) & set(codes_of(client.get(place).content))


def test_switching_two_factor_off(client, guarded, sign_in, enter, clock):
    enter(client, totp(guarded, clock.now))
    clock.forward(minutes=20)
    place = "/accounts/2fa/totp/deactivate/"
    asked = client.get(place)
    assert "reauthenticate" in asked.headers["Location"]
    client.post(asked.headers["Location"], {"password": PASSWORD, "code": totp(guarded, clock.now)})
    assert client.post(place).status_code == 302 and not Authenticator.objects.exists()
    client.post("/accounts/logout/")
    sign_in(client)
    assert get_user(client).is_authenticated


def test_the_admin_does_not_bypass_the_second_factor_but_can_switch_it_off(client, person, guarded):
    person.is_staff = person.is_superuser = True
    person.save()
    response = client.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert response.headers["Location"].startswith("/accounts/login/") and not get_user(client).is_authenticated
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    client.post("/admin/annotations/user/", {"action": "remove_second_factor", "_selected_action": [str(person.pk)]})
    assert not Authenticator.objects.exists()
