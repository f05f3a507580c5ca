from django.apps import AppConfig


class ProbesConfig(AppConfig):
    name = "tests.runtime.probes"
    label = "probes"

    def ready(self) -> None:
        from models_runtime.registry import JOBS
        from tests.runtime.probes.kinds import KINDS

        JOBS.update(KINDS)
