from django.apps import AppConfig


class SurrogatesConfig(AppConfig):
    name = "models_runtime.surrogates"
    label = "models_surrogates"

    def ready(self) -> None:
        from annotations.surrogates.services.makers import MAKERS
        from models_runtime.surrogates.services.relexicalizing import LANGUAGE_MODEL

        MAKERS["llm"] = LANGUAGE_MODEL
