"""A SAML provider that also pushes accounts by SCIM."""

import pytest

from tests.worlds import saml_provider
from tests.worlds.scim_provider import HASH, Pusher


@pytest.fixture
def configure(db, tmp_path, settings):
    """Configure the provider, with other settings of SCIM if wanted."""
    path = tmp_path / "idp.xml"
    saml_provider.write_metadata(path)

    def configured(**more):
        wanted = {"scim_token_hashes": (HASH,), "scim_groups": True, "groups": "", **more}
        settings.SIGN_IN = (saml_provider.settings(path, **wanted),)

    configured()
    return configured


@pytest.fixture
def pusher(configure) -> Pusher:
    return Pusher()
