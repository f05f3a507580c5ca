from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from annotations.models import Release, User


def certify_release(release: "Release", actor: "User | None") -> tuple[bytes, bytes]:
    """Sign a release for a command; see annotations.release.services.certificates.signing.certify."""
    from annotations.release.services.certificates.signing import certify

    return certify(release, actor)


class CertificatesConfig(AppConfig):
    name = "annotations.release"
    label = "certificates"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased
        from annotations.release.services.certificates.erasing import remember_erased
        from annotations.release.services.certificates.keys import sign_files
        from annotations.release.services.certifying import CERTIFIERS, FILE_SIGNERS

        CERTIFIERS.append(certify_release)
        FILE_SIGNERS.append(sign_files)
        registry.register("annotations.release.api.certificates.router")
        patient_erased.add(remember_erased)
        navigation.extend("releases", "certificate_sign")
        offers.offer("release.sections", "certificates/offers/release.html", position=80)
        offers.offer("releases.actions", "certificates/offers/releases.html")

        from annotations.release import overview_certificates as overview

        overview.register()
