from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "annotations.accounts"
    label = "accounts"
