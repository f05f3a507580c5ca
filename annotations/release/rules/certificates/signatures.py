"""Ed25519 signatures of certificates (RFC 8032).

A certificate's file is canonical JSON: {"certificate": content, "signature": {algorithm, fingerprint, public_key,
value}}. The signature is of the content's canonical bytes after a line that says what is signed. A PDF is signed as a
whole: its signature is a comment after its end, which PDF readers ignore.
"""

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from annotations.formats.files.json_files import JsonError, read_object
from annotations.release.rules.certificates.content import canonical
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

ALGORITHM: Final = "Ed25519"
FORMAT: Final = "deidreview certificate 1"
_OF_CONTENT: Final = f"{FORMAT}\n".encode()
_OF_PDF: Final = b"deidreview certificate 1 as PDF\n"
_OF_FILES: Final = b"deidreview release files 1\n"
_COMMENT: Final = b"%deidreview "
# An object of the PDF that holds a file without compression. JSON has no line breaks, so none can look like one.
_ATTACHMENT: Final = re.compile(
    rb"\nendobj\n\d+ 0 obj\n<<\n/Length (\d{1,9})\n[^<>]{0,40}/Params <<[^<>]{0,99}>>\n[^<>]{0,99}"
    rb"/Type /EmbeddedFile\n>>\nstream\n"
)
MOST_BYTES: Final = 16 * 1024 * 1024
"""A longer file is not a certificate."""


class CertificateError(WordedError, ValueError):
    """A file that is not an intact certificate. `code` is a short word; the message is a sentence."""

    def __init__(self, code: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
        self.code = code


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A certificate whose signature is valid: its content, the bytes of its JSON, and who signed it.

    `fingerprint` identifies the key, but anybody can make a key: compare the fingerprint with the issuer's.
    """

    content: dict[str, Any]
    json: bytes
    fingerprint: str
    is_pdf: bool


def new_private_key() -> bytes:
    """A new random private key, in 32 bytes."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_of(private: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def fingerprint_of(public: bytes) -> str:
    """The SHA-256 of the 32 bytes of a public key, in hexadecimal."""
    return hashlib.sha256(public).hexdigest()


def pem_of(public: bytes) -> bytes:
    """The public key as PEM (SubjectPublicKeyInfo), which openssl reads."""
    key = Ed25519PublicKey.from_public_bytes(public)
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def signed_json(content: Mapping[str, Any], private: bytes) -> bytes:
    """The file of a certificate. The same content and key give the same bytes."""
    return canonical({"certificate": content, "signature": _signature(_OF_CONTENT + canonical(content), private)})


def signed_pdf(pdf: bytes, private: bytes) -> bytes:
    """The PDF with its signature at the end."""
    value = Ed25519PrivateKey.from_private_bytes(private).sign(_OF_PDF + pdf)
    return pdf + _COMMENT + b64encode(value) + b"\n"


def signed_files(sha256: bytes, private: bytes) -> bytes:
    """The signature of an export's list of files (`release.json`), by the SHA-256 of the list."""
    return canonical(_signature(_OF_FILES + sha256, private))


def _signature(message: bytes, private: bytes) -> dict[str, str]:
    return _written(public_of(private), Ed25519PrivateKey.from_private_bytes(private).sign(message))


def _written(public: bytes, value: bytes) -> dict[str, str]:
    return {
        "algorithm": ALGORITHM,
        "fingerprint": fingerprint_of(public),
        "public_key": b64encode(public).decode(),
        "value": b64encode(value).decode(),
    }


def check_files_signature(data: bytes, listed: bytes) -> str:
    """Return the fingerprint of the key that signed the list of files `listed`. Raises CertificateError `signature`."""
    try:
        found = read_object(data)
    except JsonError:
        raise CertificateError("signature", "The signature of the list of files can't be read.") from None
    public, value = _decoded(found.get("public_key"), 32), _decoded(found.get("value"), 64)
    message = _OF_FILES + hashlib.sha256(listed).digest()
    _check(public, value, message, _("The list of files was changed after signing."))
    if canonical(_written(public, value)) != data:
        raise CertificateError("signature", "The signature of the list of files holds more than the issuer wrote.")
    return fingerprint_of(public)


def open_certificate(data: bytes) -> SignedCertificate:
    """Read the JSON or the PDF of a certificate, and check its signatures.

    Raises CertificateError `size`, `format`, `bytes` or `signature`.
    """
    if len(data) > MOST_BYTES:
        raise CertificateError("size", "The file is too long for a certificate.")
    if not data.startswith(b"%PDF-"):
        content, public = _open_json(data)
        return SignedCertificate(content, data, fingerprint_of(public), False)
    body, comment, signature = data.rpartition(_COMMENT)
    if not comment:
        raise CertificateError("signature", "The PDF has no signature at its end, so it was changed or cut off.")
    attached = _attachment(body)
    content, public = _open_json(attached)
    _check(public, _decoded(signature.removesuffix(b"\n"), 64), _OF_PDF + body, _("The PDF was changed after signing."))
    return SignedCertificate(content, attached, fingerprint_of(public), True)


def _open_json(data: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        found = read_object(data)
    except JsonError:
        raise CertificateError("format", "The file is neither the JSON nor the PDF of a certificate.") from None
    content, signature = found.get("certificate"), found.get("signature")
    if set(found) != {"certificate", "signature"} or not isinstance(content, dict) or not isinstance(signature, dict):
        raise CertificateError("format", "The file is JSON, but not a certificate.")
    if content.get("format") != FORMAT or signature.get("algorithm") != ALGORITHM:
        raise CertificateError("format", "The certificate has a format or a signature that this version doesn't know.")
    if canonical(found) != data:
        raise CertificateError("bytes", "The file was written again by another program, so its bytes are not original.")
    public, value = _decoded(signature.get("public_key"), 32), _decoded(signature.get("value"), 64)
    if signature.get("fingerprint") != fingerprint_of(public) or content.get("key") != signature["fingerprint"]:
        raise CertificateError("signature", "The certificate names another key than the one that signed it.")
    _check(public, value, _OF_CONTENT + canonical(content), _("The certificate was changed after signing."))
    return content, public


def _decoded(text: object, length: int) -> bytes:
    """Read Base64 as `b64encode` writes it: other spellings of the same bytes would make two files of a certificate."""
    written = text.encode() if isinstance(text, str) else text if isinstance(text, bytes) else b""
    try:
        found = b64decode(written, validate=True)
    except ValueError:
        found = b""
    if len(found) != length or b64encode(found) != written:
        raise CertificateError("signature", "The key or the signature in the certificate is damaged.")
    return found


def _check(public: bytes, signature: bytes, message: bytes, changed: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise CertificateError("signature", "{changed} Its signature is not valid.", changed) from None


def _attachment(pdf: bytes) -> bytes:
    """The bytes of the only attachment, which is stored as it is."""
    found = list(_ATTACHMENT.finditer(pdf))
    if len(found) != 1:
        raise CertificateError("format", "The PDF has no certificate attached.")
    start = found[0].end()
    return pdf[start : start + int(found[0][1])]
