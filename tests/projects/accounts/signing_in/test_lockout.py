"""Wrong passwords lock a name: by address, by browser, over a day, and from everywhere."""

from collections import Counter
from datetime import timedelta

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from axes.models import AccessAttempt, AccessFailureLog
from django.conf import settings
from django.contrib.auth import get_user
from django.db.models import F
from django.test import Client

from annotations.jobs.services.relay import Relay
from annotations.projects.services import accounts
from annotations.projects.services.accounts import client_ip
from tests.factories import PASSWORD, make_user
from tests.projects.accounts.signing_in.test_sign_in import reset_path
from tests.worlds.pages import signed_in

pytestmark = pytest.mark.django_db
LIMIT = settings.AXES_FAILURE_LIMIT
NEW = "a new battery staple"
CHANGE, CONFIRM = "/accounts/password/change/", "/accounts/reauthenticate/"


def fail(client, sign_in, times=LIMIT, username="ada"):
    for _ in range(times):
        response = sign_in(client, username, "wrong")
    return response


def strike(name: str, address: str = "127.0.0.1", times: int = 4 * LIMIT) -> None:
    """Record failures from an address without requests; by default a day's."""
    AccessFailureLog.objects.bulk_create(AccessFailureLog(username=name, ip_address=address) for _ in range(times))


def test_too_many_failures_lock_for_a_while(client, person, sign_in, clock):
    assert fail(client, sign_in, LIMIT - 1).status_code == 200
    response = fail(client, sign_in, 1)
    assert (response.status_code, response.headers["Retry-After"]) == (429, "900")
    assert b"15 minutes" in response.content and b"manager" in response.content
    typed = {"login": "ada", "password": PASSWORD}
    response = client.post("/accounts/login/", typed, headers={"Accept": "application/json"})
    assert (response.status_code, response.json()) == (429, {"error": "locked-out", "minutes": 15})
    assert not get_user(client).is_authenticated
    clock.forward(minutes=10)
    response = sign_in(client)
    assert response.status_code == 429 and b"5 minutes" in response.content, "attempts don't extend it"
    clock.forward(minutes=5.1)
    assert sign_in(client).status_code == 302


def test_spellings_of_a_name_share_its_count_and_nobody_else_is_locked(client, person, sign_in):
    make_user("bob")
    make_user("Carla")
    for number in range(LIMIT):
        responses = [
            sign_in(client, name, "wrong")
            for name in (
                ["Ada", "ADA", " ada ", "\tAdA", "ada"][number % 5],
                ["carla", "Carla", "CARLA"][number % 3],
                ["nobody", "NOBODY", " nobody", "ｎｏｂｏｄｙ", "no body"][number % 5],
            )
        ]
    assert [response.status_code for response in responses] == [429] * 3
    assert [sign_in(client, name).status_code for name in ("ada", "Carla", "bob")] == [429, 429, 302]
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_success_resets_the_count(client, person, sign_in):
    fail(client, sign_in, LIMIT - 1)
    assert sign_in(client).status_code == 302 and fail(Client(), sign_in, LIMIT - 1).status_code == 200


@pytest.mark.parametrize(
    ("path", "sent"), [(CONFIRM, {"password": "x"}), (CHANGE, {"oldpassword": "x", "password1": NEW, "password2": NEW})]
)
def test_guessing_the_old_password_of_an_open_session_locks_too(client, person, sign_in, path, sent):
    sign_in(client, "ADA")
    for _ in range(LIMIT):
        response = client.post(path, sent)
    assert response.status_code == 429 and client.post(CONFIRM, {"password": PASSWORD}).status_code == 429


def test_only_the_deployments_own_proxies_are_trusted(settings, rf):
    for proxies, forwarded, counted in (
        (0, "10.0.0.7", "127.0.0.1"),
        (1, "10.0.0.7", "10.0.0.7"),
        (1, "6.6.6.6, 10.0.0.7", "10.0.0.7"),
        (2, "6.6.6.6, 10.0.0.7, 10.0.0.1", "10.0.0.7"),
        # Fewer addresses than proxies: the request bypassed one of them.
        (2, "10.0.0.7", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (1, "6.6.6.6, nonsense\x00", "127.0.0.1"),
        (1, "::ffff:10.0.0.7", "10.0.0.7"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
    ):
        settings.PROXIES = proxies
        assert client_ip(rf.get("/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="127.0.0.1")) == counted


def test_forged_addresses_count_as_one(settings, person, sign_in):
    settings.PROXIES = 1
    # As nginx sends the header if its block only appends to what the client wrote.
    browsers = [Client(headers={"X-Forwarded-For": f"10.9.8.{number}, 10.0.0.7"}) for number in range(LIMIT + 1)]
    statuses = [sign_in(browser, password="wrong").status_code for browser in browsers]
    assert statuses == [200] * (LIMIT - 1) + [429] * 2


def test_odd_names_are_refused_and_break_nothing(client, person, sign_in):
    for name in ("ﷺ" * 150, "İ" * 150, "x" * 200):
        assert sign_in(client, name, "wrong").status_code == 200
    for name in ("\x00", "ada\x00"):  # the boundary refuses them before the name is read
        assert sign_in(client, name, "wrong").status_code == 400
    for name in ("ada (code)", "ada (browser abcdefgh)"):  # names of other counts
        sign_in(client, name, "wrong")
    assert not AccessAttempt.objects.filter(username__contains=" ").exists()


def test_no_password_is_stored_with_the_attempts(client, person, sign_in):
    sign_in(client, password="almost my password")
    attempt = AccessAttempt.objects.get()
    assert attempt.username == "ada" and "almost" not in attempt.post_data


def test_the_admin_is_for_administrators_and_has_no_sign_in_form(client):
    """Not for signed-in staff either: the form would count nothing and ask for no second factor."""
    client.force_login(make_user("mia"))
    answer = client.get("/admin/", follow=True)
    assert answer.status_code == 403 and "Your role in this project" not in answer.text
    root, other = (make_user(name, is_staff=True, is_superuser=True) for name in ("root", "other"))
    client.force_login(root)
    assert client.post("/admin/login/", {"username": "other", "password": PASSWORD}).headers["Location"] == "/admin/"
    assert get_user(client) == root != other
    assert client.post("/admin/password_change/", {}).headers["Location"] == CHANGE


# ── From many addresses, and over days ───────────────────────────────────────────────────────────────────────────────


def test_one_address_gets_few_guesses_a_day(client, person, sign_in, clock):
    tried = 0
    for _ in range(6):
        tried += sum(sign_in(client, password="wrong").status_code == 200 for _ in range(LIMIT - 1))
        clock.forward(minutes=15.1)
    assert tried == 4 * LIMIT
    response = sign_in(client)
    assert response.status_code == 429 and b"hours" in response.content
    clock.forward(minutes=24 * 60)
    assert sign_in(client).status_code == 302


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_guessing_from_very_many_addresses_ends(person, sign_in, name):
    for number in range(20):
        strike(name, f"10.0.1.{number}", LIMIT - 1)
    assert sign_in(Client(REMOTE_ADDR="10.0.2.1"), name, "wrong").status_code == 200
    strike(name, "10.0.1.99", 19)
    assert sign_in(Client(REMOTE_ADDR="10.0.2.2"), name).status_code == 429


@pytest.fixture
def known(client, person, sign_in):
    """A browser in which ada and bob signed in before."""
    make_user("bob")
    for name in ("ada", "bob"):
        cookie = sign_in(client, name).cookies[settings.KNOWN_BROWSER_COOKIE_NAME]
        assert cookie["httponly"] and cookie["samesite"] == "Lax" and name not in cookie.value
        client.post("/accounts/logout/")
    return client


def test_a_known_browser_is_not_locked_by_failures_from_other_places(known, sign_in):
    for name in ("ada", "bob"):
        strike(name)
        for number in range(20):
            strike(name, f"10.0.1.{number}", LIMIT)
        assert sign_in(Client(), name).status_code == 429 and sign_in(known, name).status_code == 302
        known.post("/accounts/logout/")


def test_a_known_browser_has_as_many_guesses_as_an_address(known, sign_in, clock):
    assert fail(known, sign_in).status_code == 429 and sign_in(known).status_code == 429
    # The known browser's failures don't lock a stranger at the same address.
    assert sign_in(Client()).status_code == 302
    clock.forward(minutes=15.1)
    assert sign_in(known).status_code == 302


def test_a_browser_is_known_only_for_its_people_until_their_next_password(known, person, sign_in):
    make_user("eve")
    person.set_password("another battery staple")
    person.save()
    for name in ("eve", "ada"):
        strike(name)
        assert sign_in(known, name, "another battery staple").status_code == 429


def test_neither_a_forged_cookie_nor_the_password_alone_makes_a_browser_known(client, person, sign_in, settings):
    TOTP.activate(person, "JBSWY3DPEHPK3PXP")
    sign_in(client)
    assert settings.KNOWN_BROWSER_COOKIE_NAME not in client.cookies
    strike("ada")
    for value in ("", "nonsense", "e30:1abc:xyz"):
        stranger = Client()
        stranger.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = value
        assert sign_in(stranger).status_code == 429


# ── A new password ───────────────────────────────────────────────────────────────────────────────────────────────────


def by_link(person, session):
    person.refresh_from_db()
    visitor = Client()
    place = visitor.get(reset_path(person), follow=True).redirect_chain[-1][0]
    visitor.post(place, {"password1": NEW, "password2": NEW})


def by_the_admin(person, session):
    admin = signed_in(make_user("root", is_staff=True, is_superuser=True))
    sent = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    admin.post(f"/admin/annotations/user/{person.pk}/password/", sent)


def in_a_session(person, session):
    session.post(CHANGE, {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW})


@pytest.mark.parametrize("way", [by_link, by_the_admin, in_a_session])
def test_a_new_password_by_any_way_ends_every_lock(person, sign_in, way):
    stranger, session = Client(), Client()
    sign_in(session)
    fail(stranger, sign_in)
    strike("ada")
    strike("ada", "10.0.1.1", LIMIT * 20)
    assert sign_in(stranger).status_code == 429
    way(person, session)
    assert sign_in(stranger, password=NEW).status_code == 302


def test_the_relay_deletes_old_failures_and_keeps_those_that_locks_need(monkeypatch):
    """Failed sign-ins don't fill the database."""
    monkeypatch.setattr(accounts, "DELETED_AT_ONCE", 2)
    for days, number in ((30, 3), (7.01, 2), (6.99, 2), (0, 1)):
        strike(f"{days} days", times=number)
        rows = AccessFailureLog.objects.filter(username=f"{days} days")
        rows.update(attempt_time=F("attempt_time") - timedelta(days=days))
    for _ in range(2):
        Relay().round()
        assert Counter(AccessFailureLog.objects.values_list("username", flat=True)) == {"6.99 days": 2, "0 days": 1}
