from django.apps import AppConfig


class ProbesConfig(AppConfig):
    name = "tests.runtime.probes"
    label = "probes"

    def ready(self) -> None:
        from models_runtime.registry import BACKENDS, JOBS
        from tests.runtime.probes.kinds import FAKE, KINDS

        JOBS.update(KINDS)
        BACKENDS["fake"] = FAKE
