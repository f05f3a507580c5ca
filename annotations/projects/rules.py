"""The providers by which an organization's people sign in, as one TOML file describes them.

`read` checks everything that needs no network. Its errors are one line each, and name the provider and the key.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import parse

_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
# Minutes that a session by SAML lasts, since nobody can ask a SAML provider whether a person is still there.
SAML_MINUTES: Final = 15
_MOST_MINUTES: Final = 12 * 60
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
SCIM_SUBJECTS: Final = ("externalId", "userName")
_METADATA: Final = "{urn:oasis:names:tc:SAML:2.0:metadata}"
_CERTIFICATE: Final = "{http://www.w3.org/2000/09/xmldsig#}X509Certificate"
_REDIRECT: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"

DIRECTORY_AWAY: Final = "directory_away"
"""The attribute of a request in which a password could not be checked by the organization's directory."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """What all kinds of providers have. `id` stands in addresses and in the database; `name` is on the button.

    `groups` is where a person's groups are: a claim, an attribute of SAML, or an attribute of LDAP. `username` is where
    a person's user name is. `second_factor` lists the values that count as a second factor of this provider.
    """

    id: str
    name: str
    groups: str = ""
    username: str = ""
    second_factor: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProvisioningProvider(Provider):
    """A provider that may also push accounts by SCIM. Without `scim_token_hashes`, it doesn't.

    `scim_token_hashes` lists the SHA-256 hashes of its tokens, in hexadecimal. `scim_subject` is the attribute of SCIM
    that is equal to what identifies the person at sign-in. With `scim_groups`, roles follow the groups of SCIM, and the
    groups of the sign-in are not read.
    """

    scim_token_hashes: tuple[str, ...] = ()
    scim_subject: str = "externalId"
    scim_groups: bool = False

    @property
    def provisions(self) -> bool:
        return bool(self.scim_token_hashes)


@dataclass(frozen=True, kw_only=True)
class OidcProvider(ProvisioningProvider):
    """OpenID Connect. `second_factor` lists values of the claims `amr` and `acr`."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    username: str = "preferred_username"
    groups: str = "groups"
    scopes: tuple[str, ...] = ("openid", "profile")


@dataclass(frozen=True, kw_only=True)
class SamlProvider(ProvisioningProvider):
    """SAML 2.0. `metadata` is the path of the provider's metadata. `second_factor` lists AuthnContext classes.

    `subject` is the attribute that identifies a person; empty: the NameID. `minutes` is how long a session lasts.
    """

    metadata: str
    subject: str = ""
    minutes: int = SAML_MINUTES


@dataclass(frozen=True, kw_only=True)
class LdapDirectory(Provider):
    """LDAP. `people` is where to search, `filter` finds one person by `{name}`, the user name that was typed.

    `subject` is the attribute that identifies a person for good, and never changes. `groups` is an attribute of the
    person with DNs of groups; `group_base` is where to search for groups that list their members instead.
    """

    url: str
    people: str
    bind_dn: str = ""
    bind_password: str = field(default="", repr=False)
    filter: str = "(uid={name})"
    subject: str = "entryUUID"
    username: str = "uid"
    groups: str = "memberOf"
    group_base: str = ""
    group_filter: str = "(member={dn})"
    start_tls: bool = False
    ca_file: str = ""


KINDS: Final[Mapping[str, type[Provider]]] = {"oidc": OidcProvider, "saml": SamlProvider, "ldap": LdapDirectory}


def read(path: str) -> tuple[Provider, ...]:
    """Read the file. Raises ValueError with one line that says what is wrong, and where."""
    try:
        with Path(path).open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}.") from error
    tables = found.pop("provider", None)
    if found:
        raise ValueError(f"{path}: “{next(iter(found))}” is not known. The file holds only [[provider]] tables.")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"{path}: There is no [[provider]] table.")
    providers = tuple(_provider(path, table) for table in tables)
    ids = [provider.id for provider in providers]
    if twice := next((one for one in ids if ids.count(one) > 1), ""):
        raise ValueError(f"{path}: Two providers have the id “{twice}”.")
    if sum(isinstance(provider, LdapDirectory) for provider in providers) > 1:
        raise ValueError(f"{path}: Only one provider can be of the kind “ldap”.")
    return providers


def _provider(path: str, table: Mapping[str, Any]) -> Provider:
    where = f"{path}, provider “{table.get('id', '')}”"
    kind = KINDS.get(str(table.get("kind")))
    if kind is None:
        raise ValueError(f"{where}: kind must be one of {', '.join(KINDS)}.")
    if not _ID.fullmatch(str(table.get("id", ""))):
        raise ValueError(f"{where}: id must be 1 to 40 small letters, digits and hyphens.")
    known = {one.name: one for one in fields(kind)}
    given = {key: value for key, value in table.items() if key != "kind"}
    for key, value in given.items():
        if key not in known:
            raise ValueError(f"{where}: “{key}” is not known. Keys: {', '.join(known)}.")
        given[key] = _value(where, key, value, known[key].type)
    try:
        provider = kind(**given)
    except TypeError:
        missing = next(name for name, one in known.items() if name not in given and one.default is one.default_factory)
        raise ValueError(f"{where}: {missing} is missing.") from None
    _CHECKS[type(provider)](where, provider)
    return provider


def _value(where: str, key: str, value: Any, kind: Any) -> Any:
    """Check the type of a value. Every text that is given must say something."""
    if kind not in _WANTED:
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise ValueError(f"{where}: {key} must be a list of texts.")
        return tuple(value)
    if type(value) is not kind or value == "":
        raise ValueError(f"{where}: {key} must be {_WANTED[kind]}.")
    return value


_WANTED: Final[Mapping[type, str]] = {int: "a whole number", bool: "true or false", str: "a text that is not empty"}


def is_loopback(host: str | None) -> bool:
    """Whether the host, an address or a name, is this machine."""
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost"


def safe_address(url: str) -> bool:
    """Whether nobody on the network can read along: HTTPS, or this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
    )


def _check_scim(where: str, provider: Any) -> None:
    if not all(_DIGEST.fullmatch(one) for one in provider.scim_token_hashes):
        raise ValueError(f"{where}: scim_token_hashes must be hashes that the command create_scim_token printed.")
    if provider.scim_subject not in SCIM_SUBJECTS:
        raise ValueError(f"{where}: scim_subject must be one of {', '.join(SCIM_SUBJECTS)}.")
    if provider.scim_groups and not provider.provisions:
        raise ValueError(f"{where}: scim_groups needs scim_token_hashes.")


def _check_oidc(where: str, provider: Any) -> None:
    _check_scim(where, provider)
    if not safe_address(provider.issuer):
        raise ValueError(f"{where}: issuer must begin with https://.")
    if "openid" not in provider.scopes:
        raise ValueError(f"{where}: scopes must contain openid.")


def _check_saml(where: str, provider: Any) -> None:
    _check_scim(where, provider)
    if provider.scim_groups and provider.groups:
        raise ValueError(f"{where}: Roles follow either the attribute of groups or scim_groups. Remove one of them.")
    if not Path(provider.metadata).is_file():
        raise ValueError(f"{where}: There is no file {provider.metadata}. Download the provider's metadata to it.")
    if fault := _fault_of_metadata(provider.metadata):
        raise ValueError(f"{where}: {provider.metadata} {fault}")
    if not 1 <= provider.minutes <= _MOST_MINUTES:
        raise ValueError(f"{where}: minutes must be 1 to {_MOST_MINUTES}.")


def _fault_of_metadata(path: str) -> str:
    """Return what makes the file unusable, as the end of a sentence; empty if nothing does."""
    try:
        tree = parse(path)
    except OSError as error:
        return f"can't be read: {error.strerror}."
    except (ParseError, DefusedXmlException, ValueError):
        return "is not XML. Download the provider's metadata again."
    provider = next(tree.iter(f"{_METADATA}IDPSSODescriptor"), None)
    if provider is None:
        return "describes no SAML 2.0 provider (IDPSSODescriptor)."
    if next(provider.iter(_CERTIFICATE), None) is None:
        return "holds no certificate (X509Certificate)."
    services = provider.findall(f"{_METADATA}SingleSignOnService")
    if all(one.get("Binding") != _REDIRECT for one in services):
        return "names no address for sign-in by HTTP-Redirect (SingleSignOnService)."
    return ""


def _check_ldap(where: str, provider: Any) -> None:
    try:
        parts = urlsplit(provider.url)
        known = parts.scheme in ("ldap", "ldaps", "ldapi") and (bool(parts.hostname) or parts.scheme == "ldapi")
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"{where}: url must be such as ldaps://ldap.example.org.")
    if parts.scheme == "ldap" and not provider.start_tls and not is_loopback(parts.hostname):
        raise ValueError(f"{where}: Passwords would be readable on the network. Use ldaps:// or start_tls = true.")
    if "{name}" not in provider.filter or "{dn}" not in provider.group_filter:
        raise ValueError(f"{where}: filter must contain {{name}}, and group_filter {{dn}}.")
    if provider.ca_file and not Path(provider.ca_file).is_file():
        raise ValueError(f"{where}: There is no file {provider.ca_file}.")
    if provider.second_factor:
        raise ValueError(f"{where}: LDAP knows no second factor. Remove second_factor.")


_CHECKS: Final = {OidcProvider: _check_oidc, SamlProvider: _check_saml, LdapDirectory: _check_ldap}
