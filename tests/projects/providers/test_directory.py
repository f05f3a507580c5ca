"""Sign-in by LDAP with a real slapd."""

from dataclasses import replace
from itertools import count

import pytest
from django.contrib.auth import get_user
from django.test import Client

from annotations.models import GroupRole, Membership, ProviderAccount, Role, User
from annotations.projects.services.providers.checking import check
from tests.factories import PASSWORD, make_project, make_user, reread
from tests.slapd import GROUPS, Slapd

THEIRS = "their password"
_numbers = count(1)


@pytest.fixture
def ada(db, directory) -> str:
    """Add a person with a new name to the directory, which all tests share. Return the name."""
    name = f"ada{next(_numbers)}"
    directory.add_person(name)
    return name


def sign_in(name: str, password: str = THEIRS) -> tuple[Client, User]:
    client = Client()
    client.post("/accounts/login/", {"login": name, "password": password})
    return client, get_user(client)


def answer_to(name: str, password: str = THEIRS) -> tuple[bool, bool]:
    """Whether the page says that the directory is away, and that the password is wrong."""
    page = Client().post("/accounts/login/", {"login": name, "password": password}).text
    return "The directory of your organization gives no usable answer" in page, "are not correct" in page


def dn_of(name: str) -> str:
    return f"uid={name},ou=people,dc=hospital,dc=example"


def ask_again() -> None:
    for pk in ProviderAccount.objects.values_list("pk", flat=True):
        check(pk)


def test_the_directorys_password_signs_in(ada):
    _, user = sign_in(ada)
    assert (user.username, user.first_name, user.last_name) == (ada, ada.title(), "Rossi")
    assert len(ProviderAccount.objects.get(user=user).subject) == 36 and not user.has_usable_password()
    assert sign_in(ada)[1].pk == user.pk


def test_other_names_and_passwords_do_not_and_a_name_is_no_filter(ada):
    for name in ("*", "ada*", f"{ada})(uid=*", f"{ada}\\2a", f"{ada})(uid=*))(|(uid=*", "nobody", ada):
        for password in ("", "wrong", *([THEIRS] if name != ada else [])):
            assert not sign_in(name, password)[1].is_authenticated, (name, password)


def test_nobody_takes_over_a_local_account(ada):
    local = make_user(ada)
    _, user = sign_in(ada)
    assert user.username == f"{ada}@ldap" and user.pk != local.pk and sign_in(ada, PASSWORD)[1].pk == local.pk


def test_wrong_passwords_lock_the_account(ada, settings):
    for _ in range(settings.AXES_FAILURE_LIMIT):
        sign_in(ada, "wrong")
    assert not sign_in(ada)[1].is_authenticated


def test_a_person_who_was_deleted_is_out(ada, directory: Slapd):
    client, user = sign_in(ada)
    ask_again()
    assert client.get("/help/").status_code == 200
    directory.delete(dn_of(ada))
    ask_again()
    assert client.get("/help/").status_code == 302
    assert not reread(user).is_active and user.left_provider_at
    # A new person with the same name is another person.
    directory.add_person(ada)
    assert sign_in(ada)[1].username == f"{ada}@ldap"


def test_the_filter_counts_at_every_check_and_the_person_may_return(ada, directory: Slapd):
    client, user = sign_in(ada)
    directory.apply(f"dn: {dn_of(ada)}\nchangetype: modify\nadd: employeeType\nemployeeType: left\n")
    ask_again()
    assert client.get("/help/").status_code == 302 and not sign_in(ada)[1].is_authenticated
    directory.apply(f"dn: {dn_of(ada)}\nchangetype: modify\ndelete: employeeType\n")
    assert sign_in(ada)[1] == user


def test_groups_of_the_directory_give_roles_and_take_them(ada, directory: Slapd):
    project, group = make_project(), f"cn=G-{ada},{GROUPS}"
    GroupRole.objects.create(project=project, provider="ldap", group=group.lower(), role=Role.REVIEWER)
    directory.apply(f"dn: {group}\nchangetype: add\nobjectClass: groupOfNames\ncn: G-{ada}\nmember: {dn_of(ada)}\n")
    _, user = sign_in(ada)
    assert Membership.objects.get(project=project, user=user, active=True).role == Role.REVIEWER
    directory.apply(f"dn: {group}\nchangetype: modify\nreplace: member\nmember: cn=admin,dc=hospital,dc=example\n")
    ask_again()
    assert not Membership.objects.filter(project=project, user=user, active=True).exists()


def test_nobody_is_told_that_a_password_is_wrong_which_the_directory_did_not_check(ada, directory, settings):
    client, _ = sign_in(ada)
    assert answer_to(ada, "wrong") == (False, True)
    (good,), away = settings.SIGN_IN, {"url": "ldap://127.0.0.1:1"}
    for broken in (away, {"bind_password": "wrong"}, {"people": "ou=nowhere,dc=hospital,dc=example"}):
        settings.SIGN_IN = (replace(good, **broken),)
        assert answer_to(ada) == (True, False)
        ask_again()
        assert client.get("/help/").status_code == 200, "no session ends"
    make_user("local")
    assert sign_in("local", PASSWORD)[1].is_authenticated


def test_a_setting_that_fits_no_person_is_in_the_log(ada, directory, settings, caplog):
    settings.SIGN_IN = (replace(settings.SIGN_IN[0], subject="objectGUID"),)
    assert answer_to(ada) == (True, False) and "The person has no objectGUID, or several." in caplog.text


def test_a_directory_with_a_certificate_of_its_own(ada, directory: Slapd, settings):
    secure = replace(settings.SIGN_IN[0], url=directory.secure_url)
    for trusted in (
        replace(secure, ca_file=str(directory.certificate)),
        replace(secure, url=directory.url, start_tls=True, ca_file=str(directory.certificate)),
    ):
        settings.SIGN_IN = (trusted,)
        assert sign_in(ada)[1].username == ada
    settings.SIGN_IN = (secure,)
    assert not sign_in(ada)[1].is_authenticated


def test_who_has_no_password_here_is_told_where_to_change_it(ada):
    client, _ = sign_in(ada)
    page = client.get("/accounts/password/change/")
    assert page.status_code == 200 and b"has no password here" in page.content
    assert b"Change password" not in client.get("/").content
    # Setting up two-factor sign-in asks for no password.
    assert client.get("/accounts/2fa/totp/activate/").status_code == 200
