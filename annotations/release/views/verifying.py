"""Verifying certificates, and the public keys of this instance, for every signed-in person."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, takes_uploads
from annotations.release.forms.certificates import VerifyForm
from annotations.release.rules.certificates.verifying import PAGE, CheckState, Verification
from annotations.release.selectors.certificates import public_keys
from annotations.release.services.certificates.verifying import upload_limit, verify_certificate, zip_files

STATES = {CheckState.PASSED: _("Passed"), CheckState.FAILED: _("Failed"), CheckState.NOT_CHECKED: _("Not checked")}


@takes_uploads(None)
@require_http_methods(["GET", "HEAD", "POST"])
def certificate_verify(request: Request) -> HttpResponse:
    """Check an uploaded certificate, and a zip of released notes against it. Nothing is stored."""
    form = VerifyForm(request.POST, request.FILES) if request.method == "POST" else VerifyForm()
    verdict = _verdict(form) if request.method == "POST" and form.is_valid() else None
    checks = [(check, STATES[check.state]) for check in verdict.checks] if verdict else []
    context = {"form": form, "verdict": verdict, "checks": checks}
    return render(request, "release/certificates/verify.html", context, status=422 if form.errors else 200)


def _verdict(form: VerifyForm) -> Verification | None:
    data = form.cleaned_data["certificate"].read()
    archive = form.cleaned_data["release"]
    try:
        files = zip_files(archive, upload_limit()) if archive else None
        return verify_certificate(data, files, form.cleaned_data["key"], PAGE)
    except ServiceError as error:
        add_error(form, error, {"zip": "release", "size": "release"})
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
    response = HttpResponse(found.pem, content_type="application/x-pem-file")
    name = f"deidreview-{fingerprint[:16]}.pem"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response
