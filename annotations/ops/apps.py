from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class OpsConfig(AppConfig):
    name = "annotations.ops"

    def ready(self) -> None:
        from annotations.annotate.events import SET_SUBMITTED
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import job_ended, relay_steps, tidiers
        from annotations.gold.events import GOLD_FROZEN
        from annotations.jobs.registry import JobKind, register

        navigation.register(navigation.Entry("project", 40, _("Patients"), "patients", Can.MANAGE))
        navigation.extend("project_settings", "project_delete")
        navigation.extend("notes", "note_delete", "notes_delete")
        offers.offer("notes.ticked", "ops/offers/ticked.html")
        offers.offer("note.foot", "ops/offers/note.html")
        offers.offer("settings.sections", "ops/offers/settings.html")
        offers.offer("settings_archived.actions", "ops/offers/archived.html")
        services = "annotations.ops.services"
        relay_steps.add(f"{services}.deleting.finish_deletions", f"{services}.webhooks.sending.send_waiting")
        tidiers.add(f"{services}.webhooks.sending.forget_old")
        job_ended.add(f"{services}.webhooks.webhooks.job_ended")
        SET_SUBMITTED.watchers.add(f"{services}.webhooks.webhooks.note_submitted")
        GOLD_FROZEN.watchers.add(f"{services}.webhooks.webhooks.gold_frozen")
        navigation.register(
            navigation.Entry("project", 60, _("Webhooks"), "webhooks", Can.MANAGE, frozenset({"webhook"}))
        )
        register(
            {
                "archive_export": JobKind(
                    title=_("Project archive"),
                    handler="annotations.ops.jobs.export",
                    right=Can.ARCHIVE,
                    unit=_("rows"),
                    result="ops/archives/exported.html",
                ),
                "archive_import": JobKind(
                    title=_("Import of a project archive"),
                    handler="annotations.ops.jobs.load",
                    right=Can.MANAGE,
                    unit=_("files"),
                    result="ops/archives/imported.html",
                    undo="annotations.ops.jobs.undo",
                    # A failed import deletes its upload, so that there is nothing left to import.
                    can_retry=False,
                ),
            }
        )
        navigation.extend("project_settings", "archive_export", "archive_confirm")
        navigation.extend("project", "archive_claim")
        offers.offer("project_new.foot", "ops/archives/offers/project_new.html")
