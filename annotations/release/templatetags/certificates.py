"""The state of a release's certificates, for the page of the release."""

from django import template

from annotations.core.access import Access
from annotations.models import Release
from annotations.release.services.certificates.status import SigningState, state_of

register = template.Library()


@register.simple_tag
def certificate_state(access: Access, release: Release) -> SigningState:
    return state_of(access, release)
