"""Certificates of releases."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import Http404

from annotations.core.access import Access, Can
from annotations.models import Certificate, Release
from annotations.release.selectors.releases import open_findings


def certificates_of(release: Release) -> QuerySet[Certificate]:
    """The certificates of a release, the newest first, without their bytes."""
    return release.certificates.select_related("signed_by").defer("json", "pdf").order_by("-number")


def certificate_for(release: Release, number: int) -> Certificate:
    """A certificate of a release by its number, with its bytes. Raises Http404."""
    found = release.certificates.filter(number=number).first()
    if found is None:
        raise Http404("This certificate does not exist.")
    return found


@dataclass(frozen=True)
class State:
    """What the page of a release shows about certificates.

    `due`: notes were erased since the newest certificate was signed, so that a new one should say so. `erased_notes`
    and `erased_patients` count all erasures since the release was prepared.
    """

    certificates: list[Certificate]
    may_sign: bool
    open_findings: int
    due: bool
    erased_notes: int
    erased_patients: int

    @property
    def newest(self) -> Certificate | None:
        return self.certificates[0] if self.certificates else None


def state_of(access: Access, release: Release) -> State:
    rows = list(certificates_of(release))
    erasures = list(release.erasures.order_by("id"))
    due = bool(rows and any(one.at >= rows[0].signed_at for one in erasures))
    signable = release.state in (Release.State.PREPARED, Release.State.SIGNED)
    waiting = open_findings(release).count() if signable else 0
    return State(
        certificates=rows,
        may_sign=signable and not waiting and access.can(Can.RELEASE),
        open_findings=waiting,
        due=due,
        erased_notes=sum(one.notes for one in erasures),
        erased_patients=sum(one.patients for one in erasures),
    )
