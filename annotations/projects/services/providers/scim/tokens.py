"""Tokens by which a provider pushes accounts. The file of providers holds only their hashes."""

import hashlib
import secrets
from typing import Final

from django.utils.crypto import constant_time_compare

from annotations.projects.rules import ProvisioningProvider
from annotations.projects.selectors.providers import provisioning

MARK: Final = "scim_"
SHORTEST: Final = 32


def new_token() -> tuple[str, str]:
    """Return a random token and its hash. A token is random, so that its plain SHA-256 suffices to recognize it."""
    token = MARK + secrets.token_urlsafe(32)
    return token, _hash(token)


def provider_with(key: str, token: str) -> ProvisioningProvider | None:
    """Return the provider with this id if the token is one of its own, or else None."""
    provider = provisioning(key)
    digest = _hash(token)
    known = [constant_time_compare(digest, one) for one in (provider.scim_token_hashes if provider else ())]
    return provider if any(known) and len(token) >= SHORTEST else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
