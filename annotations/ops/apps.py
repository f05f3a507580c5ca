from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "annotations.ops"
    label = "ops"

    def ready(self) -> None:
        from annotations.core import navigation

        navigation.extend("project_settings", "patients")
