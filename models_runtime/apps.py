from django.apps import AppConfig


class ModelsRuntimeConfig(AppConfig):
    name = "models_runtime"
    verbose_name = "Models and jobs"

    def ready(self) -> None:
        from annotations.selectors import free_texts
        from annotations.services import erasing
        from models_runtime.jobs.checkpoints import forget_all
        from models_runtime.services.free_texts import worded

        if worded not in free_texts.SOURCES:
            free_texts.SOURCES.append(worded)
            erasing.AFTERWARDS.append(forget_all)
