from django.apps import AppConfig


class ComparingConfig(AppConfig):
    name = "models_runtime.comparing"
    label = "models_comparing"

    def ready(self) -> None:
        from annotations.core import navigation

        navigation.extend("runs", "runs_compare", "compare_places")
