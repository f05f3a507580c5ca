"""Download certificates: the same bytes every time."""

from dataclasses import dataclass

from annotations.models import Release, User
from annotations.release.events import CERTIFICATE_DOWNLOADED
from annotations.release.selectors.certificates import certificate_for

TYPES = {"json": "application/json", "pdf": "application/pdf"}


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as a file. As for exports, its name has nothing of the project's."""

    name: str
    type: str
    data: bytes


def certificate_file(
    *, release: Release, number: int, format: str, actor: User, record: bool = True
) -> CertificateFile:
    """Return a certificate as `json` or `pdf`, and record the download. Raises Http404."""
    found = certificate_for(release, number)
    if record:
        CERTIFICATE_DOWNLOADED.record(
            actor=actor,
            project_id=release.project_id,
            data={"release": release.number, "certificate": number, "format": format},
        )
    data = bytes(found.json if format == "json" else found.pdf)
    return CertificateFile(f"release-{release.number}-certificate-{number}.{format}", TYPES[format], data)
