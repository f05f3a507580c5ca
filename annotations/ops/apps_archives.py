from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ArchivesConfig(AppConfig):
    name = "annotations.ops"
    label = "archives"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.exchange.services import whole_projects
        from annotations.jobs.registry import JobKind, register

        registry.register("annotations.ops.api.archives.router")
        register(
            {
                "archive_export": JobKind(
                    title=_("Project archive"),
                    handler="annotations.ops.jobs.export",
                    right=Can.ARCHIVE,
                    unit=_("rows"),
                    result="archives/exported.html",
                ),
                "archive_import": JobKind(
                    title=_("Import of a project archive"),
                    handler="annotations.ops.jobs.load",
                    right=Can.MANAGE,
                    unit=_("files"),
                    result="archives/imported.html",
                    undo="annotations.ops.jobs.undo",
                    # A failed import deletes its upload, so that there is nothing left to import.
                    can_retry=False,
                ),
            }
        )
        from annotations.ops.services.archives import by_path

        whole_projects.register(
            whole_projects.WholeProjects(
                by_path.export_to, by_path.say_exported, by_path.import_from, by_path.say_imported
            )
        )
        from annotations.ops import overview_archives as overview

        overview.register()
        navigation.extend("project_settings", "archive_export", "archive_confirm")
        navigation.extend("project", "archive_claim")
        offers.offer("settings.sections", "archives/offers/settings.html", position=10)
        offers.offer("settings_archived.actions", "archives/offers/archived.html", position=-10)
        offers.offer("project_new.foot", "archives/offers/project_new.html")
