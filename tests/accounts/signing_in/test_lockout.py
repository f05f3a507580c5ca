import pytest
from axes.models import AccessFailureLog
from django.conf import settings
from django.contrib.auth import get_user
from django.test import Client

from annotations.accounts.services.lockout import client_ip
from tests.accounts.signing_in.test_sign_in import reset_path
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


def test_the_lock_ends_by_itself_and_attempts_do_not_extend_it(client, person, sign_in, clock):
    fail(client, sign_in)
    clock.forward(minutes=10)
    response = sign_in(client)
    assert response.status_code == 429 and b"5 minutes" in response.content
    clock.forward(minutes=5.1)
    assert sign_in(client).status_code == 302


def test_unknown_names_are_locked_alike(client, sign_in):
    assert fail(client, sign_in, username="nobody").status_code == 429


def test_a_lock_affects_neither_other_people_nor_other_addresses(client, person, sign_in):
    make_user("bob")
    fail(client, sign_in)
    assert sign_in(client, "bob").status_code == 302
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_success_resets_the_count(client, person, sign_in):
    fail(client, sign_in, LIMIT - 1)
    assert sign_in(client).status_code == 302
    assert fail(Client(), sign_in, LIMIT - 1).status_code == 200


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


@pytest.mark.parametrize(
    ("proxies", "forwarded", "counted"),
    [
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
    ],
)
def test_only_the_deployments_own_proxies_are_trusted(settings, rf, proxies, forwarded, counted):
    settings.PROXIES = proxies
    request = rf.get("/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="127.0.0.1")
    assert client_ip(request) == counted


def test_twelve_forged_addresses_count_as_one(settings, person, sign_in):
    settings.PROXIES = 1
    statuses = []
    for number in range(12):
        # As nginx sends the header if its block only appends to what the client wrote.
        browser = Client(headers={"X-Forwarded-For": f"10.9.8.{number}, 10.0.0.7"})
        statuses.append(sign_in(browser, password="wrong").status_code)
    assert statuses == [200] * (LIMIT - 1) + [429] * (13 - LIMIT)


# ── Spellings of one name ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelling", ["Ada", "ADA", " ada ", "\tAdA"])
def test_other_spellings_of_a_name_share_its_count(client, person, sign_in, spelling):
    fail(client, sign_in)
    assert sign_in(client, spelling).status_code == 429
    assert not get_user(client).is_authenticated


def test_a_name_stored_with_capitals_has_one_count_too(client, sign_in):
    make_user("Carla")
    for number in range(LIMIT):
        response = sign_in(client, ["carla", "Carla", "CARLA"][number % 3], "wrong")
    assert response.status_code == 429
    assert sign_in(client, "Carla").status_code == 429


def test_spellings_of_unknown_names_share_a_count_too(client, sign_in):
    for spelling in ("nobody", "NOBODY", " nobody", "ｎｏｂｏｄｙ", "no body"):
        response = sign_in(client, spelling, "wrong")
    assert response.status_code == 429


@pytest.mark.parametrize("name", ["ﷺ" * 150, "İ" * 150, "\x00", "ada\x00", "x" * 200])
def test_odd_names_are_refused_and_break_nothing(client, person, sign_in, name):
    # The boundary refuses NUL before the name is read.
    assert sign_in(client, name, "wrong").status_code == (400 if "\x00" in name else 200)


def test_nobody_can_add_to_the_count_of_codes_or_browsers(client, person, sign_in):
    from axes.models import AccessAttempt

    for name in ("ada (code)", "ada (browser abcdefgh)"):
        sign_in(client, name, "wrong")
    assert not AccessAttempt.objects.filter(username__contains=" ").exists()


@pytest.mark.parametrize("old", ["ADA", "ada"])
def test_a_session_cannot_guess_passwords_by_changing_them(client, person, sign_in, old):
    new = "a new battery staple"
    sign_in(client, old)
    for _ in range(LIMIT):
        response = client.post("/accounts/password/change/", {"oldpassword": "x", "password1": new, "password2": new})
    assert response.status_code == 429
    assert client.post("/accounts/reauthenticate/", {"password": PASSWORD}).status_code == 429


def test_the_admin_says_that_it_is_for_administrators(client):
    client.force_login(make_user("mia"))
    page = client.get("/admin/", follow=True)
    assert page.status_code == 403
    assert "Only administrators can open this page." in page.content.decode()
    assert "Your role in this project" not in page.content.decode()


def test_the_admin_has_no_sign_in_form(client, sign_in):
    """Not for signed-in staff either: the form would count nothing and ask for no second factor."""
    root, other = (make_user(name, is_staff=True, is_superuser=True) for name in ("root", "other"))
    client.force_login(root)
    form = {"username": "other", "password": PASSWORD}
    assert client.post("/admin/login/", form).headers["Location"] == "/admin/"
    assert get_user(client) == root != other
    assert client.post("/admin/password_change/", {}).headers["Location"] == "/accounts/password/change/"


# ── From many addresses, and over days ───────────────────────────────────────────────────────────────────────────────


def strike(name: str, address: str, times: int = LIMIT) -> None:
    """Record failures from an address without requests."""
    AccessFailureLog.objects.bulk_create(AccessFailureLog(username=name, ip_address=address) for _ in range(times))


def test_one_address_gets_few_guesses_a_day(client, person, sign_in, clock):
    tried = 0
    for _ in range(10):
        for _ in range(LIMIT - 1):
            tried += sign_in(client, password="wrong").status_code == 200
        clock.forward(minutes=15.1)
    assert tried == 4 * LIMIT
    response = sign_in(client)
    assert response.status_code == 429
    clock.forward(minutes=24 * 60)
    assert sign_in(client).status_code == 302


def test_a_long_lock_is_shown_in_hours(client, person, sign_in, clock):
    strike("ada", "127.0.0.1", 4 * LIMIT)
    response = sign_in(client)
    assert b"blocked for 24 hours" in response.content and response.headers["Retry-After"] == str(24 * 3600)


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_guessing_from_very_many_addresses_ends(person, sign_in, name):
    for number in range(20):
        strike(name, f"10.0.1.{number}", LIMIT - 1)
    assert sign_in(Client(REMOTE_ADDR="10.0.2.1"), name, "wrong").status_code == 200
    strike(name, "10.0.1.99", 19)
    assert sign_in(Client(REMOTE_ADDR="10.0.2.2"), name).status_code == 429


def test_a_known_browser_is_not_locked_by_failures_from_other_places(client, person, sign_in):
    sign_in(client)
    client.post("/accounts/logout/")
    # Failures at the same address, and at all others.
    fail(Client(), sign_in)
    for number in range(20):
        strike("ada", f"10.0.1.{number}")
    assert sign_in(Client()).status_code == 429
    assert sign_in(client).status_code == 302


def test_a_known_browser_has_as_many_guesses_as_an_address(client, person, sign_in, clock):
    sign_in(client)
    client.post("/accounts/logout/")
    assert fail(client, sign_in).status_code == 429
    assert sign_in(client).status_code == 429
    # The known browser's failures don't lock a stranger at the same address.
    assert sign_in(Client()).status_code == 302
    clock.forward(minutes=15.1)
    assert sign_in(client).status_code == 302


def test_a_browser_is_known_only_for_its_people_until_their_next_password(client, person, sign_in):
    make_user("bob")
    sign_in(client)
    client.post("/accounts/logout/")
    strike("bob", "127.0.0.1", 4 * LIMIT)
    assert sign_in(client, "bob").status_code == 429
    person.set_password("another battery staple")
    person.save()
    person.refresh_from_db()
    strike("ada", "127.0.0.1", 4 * LIMIT)
    assert sign_in(client).status_code == 429


def test_a_browser_is_known_to_all_who_share_it(client, person, sign_in):
    make_user("bob")
    for name in ("ada", "bob"):
        sign_in(client, name)
        client.post("/accounts/logout/")
    for name in ("ada", "bob"):
        strike(name, "127.0.0.1", 4 * LIMIT)
        assert sign_in(client, name).status_code == 302
        client.post("/accounts/logout/")


@pytest.mark.parametrize("value", ["", "nonsense", "e30:1abc:xyz"])
def test_a_forged_cookie_makes_no_browser_known(client, person, sign_in, settings, value):
    strike("ada", "127.0.0.1", 4 * LIMIT)
    client.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = value
    assert sign_in(client).status_code == 429


def test_the_password_alone_makes_no_browser_known(client, person, sign_in, settings):
    from allauth.mfa.totp.internal.auth import TOTP

    TOTP.activate(person, "JBSWY3DPEHPK3PXP")
    sign_in(client)
    assert settings.KNOWN_BROWSER_COOKIE_NAME not in client.cookies


def test_the_cookie_of_a_known_browser_is_out_of_reach_of_scripts(client, person, sign_in, settings):
    cookie = sign_in(client).cookies[settings.KNOWN_BROWSER_COOKIE_NAME]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and "ada" not in cookie.value


def by_link(person, new, session):
    person.refresh_from_db()
    place = Client().get(reset_path(person), follow=True).redirect_chain[-1][0]
    visitor = Client()
    visitor.get(reset_path(person), follow=True)
    visitor.post(place, {"password1": new, "password2": new})


def by_the_admin(person, new, session):
    admin = Client()
    admin.force_login(make_user("root", is_staff=True, is_superuser=True))
    place = f"/admin/annotations/user/{person.pk}/password/"
    admin.post(place, {"password1": new, "password2": new, "usable_password": "true"})


def in_a_session(person, new, session):
    session.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})


@pytest.mark.parametrize("way", [by_link, by_the_admin, in_a_session])
@pytest.mark.parametrize("lock", ["minutes", "day", "everywhere"])
def test_a_new_password_by_any_way_ends_every_lock(person, sign_in, way, lock):
    stranger, session = Client(), Client()
    sign_in(session)
    if lock == "minutes":
        fail(stranger, sign_in)
    else:
        strike("ada", "127.0.0.1" if lock == "day" else "10.0.1.1", LIMIT * (4 if lock == "day" else 20))
    assert sign_in(stranger).status_code == 429
    new = "a new battery staple"
    way(person, new, session)
    assert sign_in(stranger, password=new).status_code == 302


def test_no_password_is_stored_with_the_attempts(client, person, sign_in):
    from axes.models import AccessAttempt

    sign_in(client, password="almost my password")
    attempt = AccessAttempt.objects.get()
    assert attempt.username == "ada" and "almost" not in attempt.post_data
