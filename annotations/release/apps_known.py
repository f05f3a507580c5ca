from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class KnownConfig(AppConfig):
    name = "annotations.release"
    label = "known"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased
        from annotations.jobs import hooks
        from annotations.jobs.registry import JobKind, register
        from annotations.release.services.known.master import delete_expired_uploads, erase_known

        registry.register("annotations.release.api.known.router")
        register(
            {
                "master": JobKind(
                    title=_("Patient master"),
                    handler="annotations.release.jobs.known.reading.run",
                    right=Can.MANAGE,
                    unit=_("rows"),
                    undo="annotations.release.jobs.known.reading.undo",
                    # A failed or canceled job deletes its upload.
                    can_retry=False,
                    result="known/read_result.html",
                ),
            }
        )
        hooks.TIDIERS.append(delete_expired_uploads)
        patient_erased.add(erase_known)
        navigation.register(
            navigation.Entry(
                "project",
                45,
                _("Known identifiers"),
                "known",
                Can.MANAGE,
                frozenset({"known_upload", "known_people", "known_person"}),
            )
        )
