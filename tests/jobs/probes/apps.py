from django.apps import AppConfig


class ProbesConfig(AppConfig):
    name = "tests.jobs.probes"
    label = "probes"

    def ready(self) -> None:
        from annotations.jobs.registry import JOBS
        from models_runtime.core.registry import BACKENDS
        from tests.jobs.probes.kinds import FAKE, KINDS
        from tests.worlds import killing

        JOBS.update(KINDS)
        BACKENDS["fake"] = FAKE
        killing.install()
