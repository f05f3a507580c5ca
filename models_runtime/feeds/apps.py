from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class FeedsConfig(AppConfig):
    name = "models_runtime.feeds"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased, relay_steps
        from annotations.jobs.registry import JobKind, register

        title, unit = _("Feed"), _("files")
        job = JobKind(title, "models_runtime.feeds.jobs.run", Can.RELEASE, unit=unit, result="feeds/result.html")
        register({"feed": job})
        patient_erased.add("models_runtime.feeds.services.delivering.erase_from_feeds")
        relay_steps.add("models_runtime.feeds.services.feeds.look_at_feeds")
        navigation.register(navigation.Entry("release", 15, _("Feeds"), "feeds", Can.RELEASE, frozenset({"feed"})))
