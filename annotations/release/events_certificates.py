"""Events of certificates."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ReleaseSigned(TypedDict):
    """`certificate` is the number of the certificate within the release, `risks` how many were accepted."""

    release: int
    certificate: int
    sha256: str
    notes: int
    risks: int


class CertificateDownloaded(TypedDict):
    release: int
    certificate: int
    format: str


RELEASE_SIGNED = Verb[ReleaseSigned]("release.signed", _("signed a release"))
CERTIFICATE_DOWNLOADED = Verb[CertificateDownloaded](
    "certificate.downloaded", _("downloaded a certificate"), reading=True
)
