"""Providers for the tests: an OpenID Connect server, a SAML provider, and a real slapd."""

from collections.abc import Iterator

import pytest

from annotations.models import GroupRole, Project, Role
from annotations.projects.rules import LdapDirectory
from annotations.projects.services.providers import checking, oidc, signing_in
from tests.factories import make_member, make_project
from tests.slapd import ADMIN, GROUPS, PASSWORD, PEOPLE, Slapd, private_slapd
from tests.worlds.oidc_provider import Scripted, Server
from tests.worlds.signing_in import clock, fresh_cache

__all__ = ["clock", "fresh_cache"]
DIRECTORY = "annotations.projects.services.providers.directory.Directory"


@pytest.fixture(scope="session")
def oidc_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what processes keep in memory of providers, and ask the database at every request."""
    monkeypatch.setattr(signing_in, "ALIVE_SECONDS", 0.0)
    for kept in (oidc._described, oidc._keys, signing_in._alive, checking._away):
        kept.clear()


@pytest.fixture
def idp(db: None, oidc_server: Server, settings) -> Scripted:
    """A provider that is configured, and whose state the test changes."""
    scripted = oidc_server.fresh()
    settings.SIGN_IN = (scripted.settings(),)
    return scripted


@pytest.fixture
def project(db) -> Project:
    """A project with a manager, and roles for two groups of the provider."""
    made = make_project()
    make_member(made, Role.MANAGER, "mia")
    for group, role in (("readers", Role.ANNOTATOR), ("heads", Role.MANAGER)):
        GroupRole.objects.create(project=made, provider="idp", group=group, role=role)
    return made


@pytest.fixture(scope="session")
def slapd() -> Iterator[Slapd]:
    """A real directory. Without slapd, tests that need it fail, and say which package is missing."""
    with private_slapd() as running:
        yield running


@pytest.fixture
def directory(slapd: Slapd, settings) -> Slapd:
    settings.SIGN_IN = (
        LdapDirectory(
            id="ldap", name="Hospital", url=slapd.url, bind_dn=ADMIN, bind_password=PASSWORD, people=PEOPLE,
            filter="(&(uid={name})(!(employeeType=left)))", group_base=GROUPS,
        ),
    )  # fmt: skip
    settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, DIRECTORY]
    return slapd
