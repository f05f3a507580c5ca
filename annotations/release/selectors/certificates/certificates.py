"""Certificates of releases."""

from django.db.models import QuerySet
from django.http import Http404

from annotations.models import Certificate, Release


def certificates_of(release: Release) -> QuerySet[Certificate]:
    """The certificates of a release, the newest first, without their bytes."""
    return release.certificates.select_related("signed_by").defer("json", "pdf").order_by("-number")


def certificate_for(release: Release, number: int) -> Certificate:
    """A certificate of a release by its number, with its bytes. Raises Http404."""
    found = release.certificates.filter(number=number).first()
    if found is None:
        raise Http404("This certificate does not exist.")
    return found
