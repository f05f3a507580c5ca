from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReleaseConfig(AppConfig):
    name = "annotations.release"
    label = "release"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased, project_deleted
        from annotations.jobs.registry import JobKind, register
        from annotations.release.services.erasing import count_erased, delete_releases

        register(
            {
                "release": JobKind(
                    title=_("Release"),
                    handler="annotations.release.jobs.run",
                    right=Can.RELEASE,
                    can_pause=True,
                    shared=True,
                ),
                "release_export": JobKind(
                    title=_("Export of a release"),
                    handler="annotations.release.jobs.run_export",
                    right=Can.RELEASE,
                ),
            }
        )
        patient_erased.add(count_erased)
        project_deleted.add(delete_releases)
        navigation.add_group(navigation.Group("release", _("Release"), 85))
