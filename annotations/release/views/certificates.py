"""Signing a release, and downloading its certificates."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Access, Can
from annotations.core.answers import file_answer
from annotations.core.forms import error_beside
from annotations.core.requests import FORM, Request, in_project, takes_uploads
from annotations.core.services import ServiceError
from annotations.models import Release
from annotations.release.forms.releases import SignForm, VerifyForm
from annotations.release.rules.certificates.layout import sections
from annotations.release.rules.certificates.verifying import PAGE, Verification
from annotations.release.selectors.certificates import public_keys
from annotations.release.selectors.releases import release_for
from annotations.release.services.certificates import signing
from annotations.release.services.certificates.verifying import upload_limit, verify_certificate, zip_files

FIELDS = {"expiry": "expires_on", "long": ""}


@in_project(Can.RELEASE, *FORM)
def certificate_sign(request: Request, access: Access, number: int) -> HttpResponse:
    """Show what will be signed, with the open risks; a POST signs. A repeated POST makes no second certificate."""
    release = release_for(access, number)
    initial = {"purpose": release.purpose, "recipient": release.recipient, "expires_on": release.expires_on}
    form = SignForm(request.POST if request.method == "POST" else None, initial=initial)
    accepted = request.POST.getlist("risk")
    if request.method == "POST" and form.is_valid():
        with error_beside(form, FIELDS):
            made = signing.sign(
                release=release, terms=form.terms(), accepted=accepted, own_risks=form.risks(), actor=access.user
            )
            said = _("Release %(n)s is signed. Its newest certificate is number %(certificate)s.")
            messages.success(request, said % {"n": number, "certificate": made.number})
            return redirect("release", access.slug, number)
    try:
        context = _context(access, release, form, accepted)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("audit_leaks" if error.code == signing.UNDECIDED else "release", access.slug, number)
    return render(request, "release/certificates/sign.html", context, status=422 if form.errors else 200)


def _context(access: Access, release: Release, form: SignForm, accepted: list[str]) -> dict[str, Any]:
    found = signing.prospect_without_terms(release, access.user)
    return {
        "release": release,
        "form": form,
        "risks": [(risk, risk.key in accepted) for risk in found.risks],
        "sections": sections(found.content)[2:4],
        "number": found.content["number"],
        "supersedes": found.content["supersedes"],
        "back": reverse("release", args=[access.slug, release.number]),
    }


@in_project(Can.AUDIT_RELEASES)
def certificate_download(request: Request, access: Access, number: int, certificate: int, format: str) -> HttpResponse:
    """Send a certificate as JSON or PDF: the same bytes every time."""
    release = release_for(access, number)
    gets = request.method == "GET"
    return file_answer(
        *signing.certificate_file(release=release, number=certificate, format=format, actor=access.user, record=gets)
    )


# Verifying certificates, and the public keys of this instance, for every signed-in person.


@takes_uploads(None)
@require_http_methods(["GET", "HEAD", "POST"])
def certificate_verify(request: Request) -> HttpResponse:
    """Check an uploaded certificate, and a zip of released notes against it. Nothing is stored."""
    form = VerifyForm(request.POST, request.FILES) if request.method == "POST" else VerifyForm()
    verdict = _verdict(form) if request.method == "POST" and form.is_valid() else None
    checks = [(check, _(check.state.words)) for check in verdict.checks] if verdict else []
    context = {"form": form, "verdict": verdict, "checks": checks}
    return render(request, "release/certificates/verify.html", context, status=422 if form.errors else 200)


def _verdict(form: VerifyForm) -> Verification | None:
    data = form.cleaned_data["certificate"].read()
    archive = form.cleaned_data["release"]
    with error_beside(form, {"zip": "release", "size": "release"}):
        files = zip_files(archive, upload_limit()) if archive else None
        return verify_certificate(data, files, form.cleaned_data["key"], PAGE)
    return None


@require_safe
def signing_keys(request: Request) -> HttpResponse:
    """List the public keys with which this instance signs certificates."""
    return render(request, "release/certificates/keys.html", {"keys": public_keys()})


@require_safe
def signing_key_pem(request: Request, fingerprint: str) -> HttpResponse:
    """Send a public key as PEM."""
    found = next((key for key in public_keys() if key.fingerprint == fingerprint), None)
    if found is None:
        raise Http404("This instance has no such key.")
    return file_answer(found.pem.encode(), "application/x-pem-file", f"deidreview-{fingerprint[:16]}.pem")
