from django.apps import AppConfig


class CertificatesConfig(AppConfig):
    name = "annotations.certificates"
    label = "certificates"

    def ready(self) -> None:
        from annotations.certificates.services.erasing import remember_erased
        from annotations.certificates.services.signing import certify
        from annotations.core import offers
        from annotations.core.hooks import patient_erased
        from annotations.release.services.certifying import CERTIFIERS

        CERTIFIERS.append(certify)
        patient_erased.add(remember_erased)
        offers.offer("release.sections", "certificates/offers/release.html", position=80)
