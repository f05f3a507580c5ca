from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class WebhooksConfig(AppConfig):
    name = "annotations.ops"
    label = "webhooks"

    def ready(self) -> None:
        from annotations.annotate.events import SET_SUBMITTED
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.gold.events import GOLD_FROZEN
        from annotations.jobs import hooks
        from annotations.ops import overview_webhooks as overview
        from annotations.ops.services.webhooks.recording import gold_frozen, job_ended, note_submitted
        from annotations.ops.services.webhooks.sending import forget_old, send_waiting

        registry.register("annotations.ops.api.webhooks.router")
        hooks.ENDED.append(job_ended)
        hooks.STEPS.append(send_waiting)
        hooks.TIDIERS.append(forget_old)
        SET_SUBMITTED.watch(note_submitted)
        GOLD_FROZEN.watch(gold_frozen)
        navigation.register(
            navigation.Entry("project", 60, _("Webhooks"), "webhooks", Can.MANAGE, frozenset({"webhook"}))
        )
        overview.register()
