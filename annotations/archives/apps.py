from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ArchivesConfig(AppConfig):
    name = "annotations.archives"
    label = "archives"

    def ready(self) -> None:
        from annotations.api import registry
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register
        from annotations.transfer.services import whole_projects

        registry.register("annotations.archives.api.router")
        register(
            {
                "archive_export": JobKind(
                    title=_("Project archive"),
                    handler="annotations.archives.jobs.export",
                    right=Can.ARCHIVE,
                    unit=_("rows"),
                    result="archives/exported.html",
                ),
                "archive_import": JobKind(
                    title=_("Import of a project archive"),
                    handler="annotations.archives.jobs.load",
                    right=Can.MANAGE,
                    unit=_("files"),
                    result="archives/imported.html",
                    undo="annotations.archives.jobs.undo",
                    # A failed import deletes its upload, so that there is nothing left to import.
                    can_retry=False,
                ),
            }
        )
        from annotations.archives.services import by_path

        whole_projects.register(
            whole_projects.WholeProjects(
                by_path.export_to, by_path.say_exported, by_path.import_from, by_path.say_imported
            )
        )
        from annotations.archives import overview

        overview.register()
        navigation.extend("project_settings", "archive_export", "archive_confirm")
        navigation.extend("project", "archive_claim")
        offers.offer("settings.sections", "archives/offers/settings.html", position=10)
        offers.offer("settings_archived.actions", "archives/offers/archived.html", position=-10)
        offers.offer("project_new.foot", "archives/offers/project_new.html")
