"""Certificates of releases, and the keys that sign them."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from annotations.models import Certificate, Release, SigningKey
from annotations.release.rules.certificates.signatures import fingerprint_of, pem_of

# The public keys of this instance.


@dataclass(frozen=True)
class PublicKey:
    """A key with which this instance signs, or signed, certificates."""

    fingerprint: str
    pem: str
    created_at: datetime


def public_keys() -> list[PublicKey]:
    """The public parts of all signing keys, the one that signs now first."""
    return [
        PublicKey(fingerprint_of(bytes(row.public)), pem_of(bytes(row.public)).decode(), row.created_at)
        for row in SigningKey.objects.order_by("-id").defer("sealed")
    ]


# Certificates of releases.


def certificates_of(release: Release) -> QuerySet[Certificate]:
    """The certificates of a release, the newest first, without their bytes."""
    return release.certificates.select_related("signed_by").defer("json", "pdf").order_by("-number")


def certificate_for(release: Release, number: int) -> Certificate:
    """A certificate of a release by its number, with its bytes. Raises Http404."""
    return get_object_or_404(release.certificates, number=number)
