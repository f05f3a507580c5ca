from django.apps import AppConfig


class CertificatesConfig(AppConfig):
    name = "annotations.certificates"
    label = "certificates"

    def ready(self) -> None:
        pass
