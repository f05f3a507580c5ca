"""What the page of a release shows about its certificates."""

from dataclasses import dataclass

from annotations.core.access import Access, Can
from annotations.core.errors import ServiceError
from annotations.models import Certificate, Release
from annotations.release.selectors.certificates import certificates_of
from annotations.release.services.certificates.signing import UNDECIDED, check_signable


@dataclass(frozen=True)
class SigningState:
    """The certificates of a release, and whether it can be signed.

    `refused` says why it can't be signed now, `undecided` that leaks of the audit are the reason. `due`: notes were
    erased since the newest certificate was signed, so that a new one should say so. `erased_notes` and
    `erased_patients` count all erasures since the release was prepared.
    """

    certificates: list[Certificate]
    may_sign: bool
    refused: str
    undecided: bool
    due: bool
    erased_notes: int
    erased_patients: int

    @property
    def newest(self) -> Certificate | None:
        return self.certificates[0] if self.certificates else None


def state_of(access: Access, release: Release) -> SigningState:
    rows = list(certificates_of(release))
    erasures = list(release.erasures.order_by("id"))
    refused = code = ""
    try:
        check_signable(release)
    except ServiceError as error:
        refused, code = str(error), error.code
    return SigningState(
        certificates=rows,
        may_sign=not refused and access.can(Can.RELEASE),
        refused=refused,
        undecided=code == UNDECIDED,
        due=bool(rows and any(one.at >= rows[0].signed_at for one in erasures)),
        erased_notes=sum(one.notes for one in erasures),
        erased_patients=sum(one.patients for one in erasures),
    )
