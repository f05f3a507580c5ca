"""Routes of certificates: what would be signed, sign, list, download, verify, and the keys of this instance."""

from datetime import date, datetime
from operator import itemgetter
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Field, File, Form, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.answers import file_answer
from annotations.core.api import routes
from annotations.core.api.mount import sends
from annotations.core.api.routes import Answer, ApiRequest, Body, Username, check, named, read_as
from annotations.core.requests import takes_uploads
from annotations.models import Certificate, Release
from annotations.release.api.releases import Named
from annotations.release.forms.releases import SignForm, VerifyForm
from annotations.release.rules.certificates.statements import LONGEST
from annotations.release.rules.certificates.verifying import PAGE
from annotations.release.selectors.certificates import PublicKey, certificates_of, public_keys
from annotations.release.services.certificates import signing
from annotations.release.services.certificates.verifying import upload_limit, verify_certificate, zip_files
from annotations.release.services.starting import LONGEST_PURPOSE, LONGEST_RECIPIENT

router = routes.ProjectRouter(tags=["Certificates"])
PATH = "/projects/{slug:slug}/releases/{int:release}/certificates"


class CertificateItem(Answer):
    """A certificate of a release. The one with the highest number supersedes the others."""

    number: int
    sha256: str
    notes: int = Field(validation_alias="note_count")
    expires_on: date | None
    signed_by: Username
    signed_at: datetime


class RiskItem(Answer):
    """An open risk. Accept it by its `key`, unless `accepted_by` names who accepted it for an earlier certificate."""

    key: str
    text: str
    accepted_by: Annotated[str | None, read_as(dict, itemgetter("by"))] = Field(validation_alias="accepted")


class Prospect(Answer):
    """What would be signed now: the content of the certificate as far as it is known, and the open risks."""

    risks: list[RiskItem]
    content: dict[str, Any]


class NewCertificate(Body):
    """What the signer states. `accepted` are keys of open risks, `own_risks` further risks that the signer accepts."""

    purpose: str = Field(max_length=LONGEST_PURPOSE)
    recipient: str = Field(max_length=LONGEST_RECIPIENT)
    expires_on: date
    accepted: list[str] = Field([], max_length=200)
    own_risks: list[str] = Field(
        [], max_length=signing.MOST_OWN_RISKS, description=f"Each of at most {LONGEST} characters."
    )


class CheckItem(Schema):
    """One check. `state` is passed, failed or not checked; `names` are names of notes or files, at most 20."""

    check: str
    state: str
    message: str
    names: list[str]


class Verified(Schema):
    """The result: `verified` unless a check failed. `key` is the fingerprint of the signer's key."""

    verified: bool
    release: int | None
    certificate: int | None
    key: str | None
    checks: list[CheckItem]


class VerifyOptions(Schema):
    """`key`: the fingerprint to trust, for a certificate of another instance."""

    key: str = ""


@router.get(f"{PATH}/draft", Can.RELEASE, response=Prospect)
def draft_certificate(access: Access, release: Named) -> signing.Prospect:
    """Show what would be signed now, with the open risks."""
    return signing.prospect_without_terms(release, access.user)


@router.post(PATH, Can.RELEASE, response={201: CertificateItem})
def sign_certificate(access: Access, release: Named, body: NewCertificate) -> Certificate:
    """Sign a release. If the newest certificate says the same already, it is returned."""
    form = SignForm(body.dict() | {"own_risks": "\n".join(" ".join(risk.split()) for risk in body.own_risks)})
    check(form)
    with named({"expiry": "expires_on", "risks": "accepted", "long": "own_risks"}):
        return signing.sign(
            release=release, terms=form.terms(), accepted=body.accepted, own_risks=form.risks(), actor=access.user
        )  # fmt: skip


@router.get(PATH, Can.AUDIT_RELEASES, response=list[CertificateItem])
def list_certificates(access: Access, release: Named) -> list[Certificate]:
    """List the certificates of a release, the newest first."""
    return list(certificates_of(release))


@router.get(
    f"{PATH}/{{int:certificate}}.json", Can.AUDIT_RELEASES, response={200: None},
    openapi_extra=sends("application/json"),
)  # fmt: skip
def download_certificate_json(access: Access, release: Named, certificate: int) -> HttpResponse:
    """Download a certificate as JSON: the same bytes every time."""
    return _download(access, release, certificate, "json")


@router.get(
    f"{PATH}/{{int:certificate}}.pdf", Can.AUDIT_RELEASES, response={200: None}, openapi_extra=sends("application/pdf")
)
def download_certificate_pdf(access: Access, release: Named, certificate: int) -> HttpResponse:
    """Download a certificate as PDF: the same bytes every time."""
    return _download(access, release, certificate, "pdf")


@router.post("/certificates/verify", response=Verified)
@takes_uploads(None)
def verify_certificate_now(
    request: ApiRequest,
    options: Form[VerifyOptions],
    certificate: File[UploadedFile],
    release: File[UploadedFile | None] = None,
) -> dict[str, Any]:
    """Check a certificate (JSON or PDF), and optionally a zip of released notes against it. Nothing is stored."""
    routes.require_scope(request, routes.Scope.READ)
    wanted = check(VerifyForm(options.dict(), request.FILES))
    with named({"zip": "release", "size": "release", "key": "key"}):
        files = zip_files(wanted["release"], upload_limit()) if wanted["release"] else None
        return verify_certificate(wanted["certificate"].read(), files, wanted["key"], PAGE).as_dict()


@router.get("/certificates/keys", response=list[PublicKey])
def list_signing_keys(request: ApiRequest) -> list[PublicKey]:
    """List the public keys of this instance, the one that signs now first."""
    return public_keys()


def _download(access: Access, release: Release, certificate: int, format: str) -> HttpResponse:
    return file_answer(*signing.certificate_file(release=release, number=certificate, format=format, actor=access.user))
