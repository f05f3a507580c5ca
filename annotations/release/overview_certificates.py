"""Signing, as a step on the page of a release."""

from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.models import Release
from annotations.release.selectors.about import MORE_STEPS, Step
from annotations.release.services.certificates.status import state_of

POSITION = 20


def register() -> None:
    MORE_STEPS.append((POSITION, sign_step))


def sign_step(access: Access, release: Release) -> Step:
    """Whether a release is signed, and the page where it can be."""
    state = state_of(access, release)
    title = _("Sign")
    if state.newest is not None:
        text = _("Certificate %(n)d says how the notes were de-identified.") % {"n": state.newest.number}
        return Step(title, text, done=True)
    text = _("You accept the risks that remain, and the certificate is made.")
    if not state.may_sign:
        return Step(title, text, done=False)
    return Step(title, text, done=False, page="certificate_sign", action=_("Review and sign"))
