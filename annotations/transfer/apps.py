from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "annotations.transfer"
    label = "transfer"
