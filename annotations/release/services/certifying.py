"""Certificates of releases, which a higher feature makes."""

from collections.abc import Callable

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Release, User

Certify = Callable[[Release, User | None], tuple[bytes, bytes]]
"""Signs a prepared release and returns its certificate, as JSON and as PDF. Raises ServiceError."""

CERTIFIERS: list[Certify] = []
"""The feature that makes certificates registers here in AppConfig.ready()."""

FILE_SIGNERS: list[Callable[[bytes], bytes]] = []
"""Signs the list of an export's files by its SHA-256, and returns the signature's file. Registered likewise."""


def check_certifier() -> None:
    """Raise ServiceError `certificate` where no feature makes certificates."""
    if not CERTIFIERS:
        raise ServiceError(_("Certificates are not available in this installation."), code="certificate")


def certify(release: Release, actor: User | None) -> tuple[bytes, bytes]:
    """Sign a release and return its certificate, as JSON and as PDF. Raises ServiceError."""
    check_certifier()
    return CERTIFIERS[0](release, actor)
