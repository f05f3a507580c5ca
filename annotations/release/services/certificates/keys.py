"""The key with which the instance signs certificates."""

from dataclasses import dataclass

from django.db import transaction

from annotations.core.locks import advisory_lock
from annotations.core.sealing import instance_fernet, opened_by_instance
from annotations.models import SigningKey
from annotations.release.rules.certificates.signatures import new_private_key, public_of, signed_files

_PURPOSE = "signing key"
# The number of this lock, different from all other advisory locks.
_KEYS = 0x516E


@dataclass(frozen=True, repr=False)
class Signer:
    """The newest signing key with its private part. Keep it no longer than the work for which it was opened."""

    row: SigningKey
    private: bytes


def signer() -> Signer:
    """Return the key that signs now, which is made on first use. Two first uses at a time give the same key.

    Raises OtherSecretKey under another secret key than the one that sealed it.
    """
    row = newest_key()
    return Signer(row, opened_by_instance(_PURPOSE, bytes(row.sealed)))


def sign_files(sha256: bytes) -> bytes:
    """Sign the list of an export's files, which has this SHA-256. Return the file of the signature."""
    return signed_files(sha256, signer().private)


def newest_key() -> SigningKey:
    """Return the key that signs now, and make it on first use."""
    row = SigningKey.objects.order_by("-id").first()
    if row is not None:
        return row
    with transaction.atomic():
        advisory_lock(_KEYS, 0, shared=False)
        row = SigningKey.objects.order_by("-id").first()
        if row is None:
            private = new_private_key()
            sealed = instance_fernet(_PURPOSE).encrypt(private)
            row = SigningKey.objects.create(public=public_of(private), sealed=sealed)
        return row
