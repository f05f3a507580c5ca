"""The public keys of this instance."""

from dataclasses import dataclass
from datetime import datetime

from annotations.models import SigningKey
from annotations.release.rules.certificates.signatures import fingerprint_of, pem_of


@dataclass(frozen=True)
class PublicKey:
    fingerprint: str
    pem: bytes
    created_at: datetime


def public_keys() -> list[PublicKey]:
    """The public parts of all signing keys, the one that signs now first."""
    return [
        PublicKey(fingerprint_of(bytes(row.public)), pem_of(bytes(row.public)), row.created_at)
        for row in SigningKey.objects.order_by("-id").defer("sealed")
    ]
