"""Sign-in by LDAP: django-auth-ldap checks the password; the account follows from what identifies the person.

Imported only where an LDAP directory is configured.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import ldap
from django.contrib.auth.backends import ModelBackend
from django.dispatch import receiver
from django.http import HttpRequest
from django_auth_ldap.backend import LDAPBackend, ldap_error
from django_auth_ldap.config import LDAPSearch, LDAPSettings
from ldap.filter import escape_filter_chars

from annotations.models import User
from annotations.projects.rules import DIRECTORY_AWAY, LdapDirectory
from annotations.projects.selectors.providers import directory
from annotations.projects.services.providers.signing_in import Identity, SignInRefused, Unreachable, account_of, begin

log = logging.getLogger("deidreview.sign_in")
# Seconds that the directory may take to answer.
PATIENCE: Final = 5
# What the relay needs to ask again is in the settings, so nothing is sealed; this says that it can ask.
ASKABLE: Final = b"ldap"
# Attributes of the kind “operational”, such as entryUUID and memberOf, come only if they are asked for.
_ALL: Final = ["*", "+"]


class Directory(LDAPBackend):  # type: ignore[misc]  # its class has no types
    """Passwords of the directory. All errors mean that the password is not accepted."""

    @cached_property
    def settings(self) -> Any:
        provider = directory()
        if provider is None:
            raise SignInRefused("No directory is configured.")
        search = provider.filter.replace("%", "%%").replace("{name}", "%(user)s")
        return LDAPSettings(
            "DEIDREVIEW_NO_OTHER_LDAP_",
            {
                "SERVER_URI": provider.url,
                "BIND_DN": provider.bind_dn,
                "BIND_PASSWORD": provider.bind_password,
                "START_TLS": provider.start_tls,
                "CONNECTION_OPTIONS": _options(provider),
                "USER_SEARCH": LDAPSearch(provider.people, ldap.SCOPE_SUBTREE, search, _ALL),
                "USER_ATTRLIST": _ALL,
                "ALWAYS_UPDATE_USER": False,
                "PERMIT_EMPTY_PASSWORD": False,
            },
        )

    def get_or_build_user(self, username: str, ldap_user: Any) -> tuple[User, bool]:
        """Return the account of the person whose password was right, which is saved already."""
        provider = directory()
        if provider is None or ldap_user._request is None:
            raise ldap_user.AuthenticationFailed("No directory is configured, or nobody asks.")
        attributes = {name.lower(): values for name, values in ldap_user.attrs.items()}
        try:
            identity = Identity(
                provider=provider.id,
                subject=_subject(provider, attributes),
                username=_text(attributes, provider.username) or username,
                first_name=_text(attributes, "givenName"),
                last_name=_text(attributes, "sn"),
                groups=_groups(provider, ldap_user.connection, ldap_user.dn, attributes),
                sealed=ASKABLE,
            )
            account = account_of(identity)
        except SignInRefused as error:
            # The password was right. The library would tell neither the person nor the log.
            log.warning("A sign-in at the provider %s was refused: %s", provider.id, str(error))
            _away(ldap_user._request)
            raise ldap_user.AuthenticationFailed(str(error)) from None
        begin(ldap_user._request, account, identity)
        return account.user, False

    def get_user(self, user_id: int) -> User | None:
        """Return the account of a session. Unlike django-auth-ldap, return no inactive one."""
        found: User | None = ModelBackend().get_user(user_id)
        return found


@receiver(ldap_error)
def _away(request: HttpRequest | None, **_: Any) -> None:
    """The directory could not be asked: it does not answer, or its settings here are wrong. The library logs why."""
    if request is not None:
        setattr(request, DIRECTORY_AWAY, True)


def _options(provider: LdapDirectory) -> dict[int, Any]:
    options = {
        ldap.OPT_NETWORK_TIMEOUT: PATIENCE,
        ldap.OPT_TIMEOUT: PATIENCE,
        ldap.OPT_REFERRALS: 0,
        ldap.OPT_X_TLS_REQUIRE_CERT: ldap.OPT_X_TLS_DEMAND,
    }
    if provider.ca_file:
        options[ldap.OPT_X_TLS_CACERTFILE] = provider.ca_file
    # Options of TLS have an effect only with a new context, which must come last.
    return options | {ldap.OPT_X_TLS_NEWCTX: 0}


def _subject(provider: LdapDirectory, attributes: Mapping[str, list[Any]]) -> str:
    """Return what identifies the person. Active Directory's objectGUID is binary, and is written in hexadecimal."""
    values = attributes.get(provider.subject.lower(), [])
    if len(values) != 1:
        raise SignInRefused(f"The person has no {provider.subject}, or several.")
    value = values[0]
    if provider.subject.lower() == "objectguid":
        return (value if isinstance(value, bytes) else value.encode("latin-1")).hex()
    return value.decode() if isinstance(value, bytes) else str(value)


def _text(attributes: Mapping[str, list[Any]], name: str) -> str:
    value = next(iter(attributes.get(name.lower(), [])), "")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _groups(provider: LdapDirectory, connection: Any, dn: str, attributes: Mapping[str, list[Any]]) -> frozenset[str]:
    """Return the DNs of the person's groups in small letters: DNs are compared without regard to case."""
    if provider.group_base:
        query = provider.group_filter.replace("{dn}", escape_filter_chars(dn))
        found = connection.search_s(provider.group_base, ldap.SCOPE_SUBTREE, query, ["1.1"])
        return frozenset(name.lower() for name, _ in found if name)
    values = attributes.get(provider.groups.lower(), [])
    return frozenset((one.decode() if isinstance(one, bytes) else str(one)).lower() for one in values)


@contextmanager
def _connected(provider: LdapDirectory) -> Iterator[Any]:
    connection = ldap.initialize(provider.url, bytes_mode=False)
    try:
        for option, value in _options(provider).items():
            connection.set_option(option, value)
        if provider.start_tls:
            connection.start_tls_s()
        connection.simple_bind_s(provider.bind_dn, provider.bind_password)
        yield connection
    finally:
        connection.unbind_s()


def groups_now(provider: LdapDirectory, subject: str) -> frozenset[str] | None:
    """Return the groups of the person, or None where the directory has no such person who may sign in.

    Raises Unreachable.
    """
    wanted = (
        "".join(f"\\{byte:02x}" for byte in bytes.fromhex(subject))
        if provider.subject.lower() == "objectguid"
        else escape_filter_chars(subject)
    )
    query = f"(&{provider.filter.replace('{name}', '*')}({provider.subject}={wanted}))"
    try:
        with _connected(provider) as connection:
            found = connection.search_s(provider.people, ldap.SCOPE_SUBTREE, query, _ALL)
            people = [(dn, attributes) for dn, attributes in found if dn]
            if len(people) != 1:
                return None
            dn, attributes = people[0]
            return _groups(provider, connection, dn, {name.lower(): values for name, values in attributes.items()})
    except ldap.LDAPError as error:
        raise Unreachable(type(error).__name__) from None
