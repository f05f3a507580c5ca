from django.apps import AppConfig


class ModelsRuntimeConfig(AppConfig):
    name = "models_runtime"
    verbose_name = "Models and jobs"

    def ready(self) -> None:
        from annotations.ops.selectors import free_texts
        from annotations.ops.services import erasing
        from models_runtime.ops.services.free_texts import worded
        from models_runtime.training.jobs.checkpoints import forget_all

        if worded not in free_texts.SOURCES:
            free_texts.SOURCES.append(worded)
            erasing.AFTERWARDS.append(forget_all)
