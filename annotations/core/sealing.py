"""Keys of projects: sealing what must stay secret, and keyed digests of it.

Every project has a random key, sealed with a key that is derived from the instance's secret key. Without the secret key
nothing that was sealed can be read again, so keep it beside the backups.
"""

import json
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.models import Project, ProjectKey
from annotations.text.hashes import DigestKey

_BYTES: Final = 32
_from_json: Final = json.JSONDecoder().decode
_as_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_NONCE: Final = 12  # bytes, as NIST SP 800-38D recommends; random ones suffice for 2^32 values of a project


class OtherSecretKey(ServiceError):
    """Sealed data can't be read, because the instance has another secret key than when it was sealed.

    Pages that don't answer it themselves answer with the status 503 (deidreview.middleware).
    """

    def __init__(self) -> None:
        message = _("Sealed data can't be read with the secret key of this instance. Restore the key that sealed it.")
        super().__init__(message, code="sealed")


@dataclass(frozen=True, repr=False)
class Key(DigestKey):
    """The key of a project. Keep it no longer than the work for which it was opened."""

    def seal(self, value: Any) -> bytes:
        """Encrypt a JSON value with AES-256-GCM, under a random nonce. An index seals 100,000 rows in a second."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, _as_json(value).encode(), None)

    def open(self, sealed: bytes) -> Any:
        """Decrypt a JSON value. Raises OtherSecretKey where it was sealed with another key."""
        try:
            return _from_json(self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None).decode())
        except (InvalidTag, ValueError):
            raise OtherSecretKey from None

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self.digest("sealing"))


def instance_fernet(purpose: str) -> Fernet:
    """Encryption with a key derived from the instance's secret key."""
    derived = HKDF(algorithm=SHA256(), length=_BYTES, salt=None, info=f"deidreview {purpose}".encode())
    return Fernet(urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode())))


def project_key(project: Project | int) -> Key:
    """Return the project's key, which is made on first use. Two first uses at a time give the same key."""
    pk = project if isinstance(project, int) else project.pk
    row = ProjectKey.objects.filter(pk=pk).first()
    if row is None:
        sealed = instance_fernet("project key").encrypt(secrets.token_bytes(_BYTES))
        ProjectKey.objects.bulk_create([ProjectKey(project_id=pk, sealed=sealed)], ignore_conflicts=True)
        row = ProjectKey.objects.get(pk=pk)
    return Key(opened_by_instance("project key", bytes(row.sealed)))


def opened_by_instance(purpose: str, sealed: bytes) -> bytes:
    """Decrypt what `instance_fernet` encrypted. Raises OtherSecretKey under another secret key."""
    try:
        return instance_fernet(purpose).decrypt(sealed)
    except InvalidToken:
        raise OtherSecretKey from None
