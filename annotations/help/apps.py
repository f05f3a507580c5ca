from django.apps import AppConfig


class HelpConfig(AppConfig):
    name = "annotations.help"
    label = "help"
