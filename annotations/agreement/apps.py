from django.apps import AppConfig


class AgreementConfig(AppConfig):
    name = "annotations.agreement"
    label = "agreement"
