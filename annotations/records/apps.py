from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RecordsConfig(AppConfig):
    name = "annotations.records"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "records": JobKind(
                    title=_("De-identify records"),
                    handler="annotations.records.jobs.run",
                    right=Can.RELEASE,
                    unit=_("records"),
                    undo="annotations.records.jobs.undo",
                    # A failed or canceled job deletes its upload.
                    can_retry=False,
                    result="records/result.html",
                ),
                "records_export": JobKind(
                    title=_("Export of records"),
                    handler="annotations.records.jobs.run_export",
                    right=Can.RELEASE,
                    unit=_("records"),
                    result="records/result.html",
                ),
            }
        )
        one, schema = frozenset({"record"}), frozenset({"record_schema"})
        navigation.register(
            navigation.Entry("release", 50, _("Records"), "records", Can.RELEASE, one),
            navigation.Entry("release", 60, _("Schemas"), "record_schemas", Can.MANAGE, schema),
        )
